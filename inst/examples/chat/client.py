"""Asks the chat with the package `openai`: python3 client.py http://127.0.0.1:8080 (pip install openai)."""

import sys

from openai import BadRequestError, NotFoundError, OpenAI

client = OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
question = [{"role": "user", "content": "Tell me of the river"}]

print("models:", [model.id for model in client.models.list()])

answer = client.chat.completions.create(model="river", messages=question, seed=7)
text = answer.choices[0].message.content
print("whole:", text)

said, finish, usage = "", None, None
for chunk in client.chat.completions.create(
    model="river", messages=question, seed=7, stream=True, stream_options={"include_usage": True}
):
    for choice in chunk.choices:
        said += choice.delta.content or ""
        finish = choice.finish_reason or finish
    usage = chunk.usage or usage
print("streamed the same:", said == text and finish == "stop" and usage == answer.usage)

short = client.chat.completions.create(model="river", messages=question, seed=7, max_tokens=3)
print("short:", short.choices[0].finish_reason, short.usage.completion_tokens, text.startswith(short.choices[0].message.content))

for wrong in ({"model": "sea", "messages": question}, {"model": "river", "messages": []}):
    try:
        client.chat.completions.create(**wrong)
        print("nothing is wrong?")
    except (NotFoundError, BadRequestError) as error:
        print(error.status_code, error.body["message"])
