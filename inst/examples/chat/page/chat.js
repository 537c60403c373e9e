// The page of the chat: sends all that was said, and shows the answer while it comes.

const said = document.getElementById("said");
const form = document.getElementById("ask");
const question = document.getElementById("question");
const stop = document.getElementById("stop");
const messages = [];

function show(role, text) {
  const item = document.createElement("li");
  item.className = role;
  item.textContent = text;
  said.append(item);
  return item;
}

// The data of the events in a body, as they come.
async function* events(body) {
  let rest = "";
  for await (const text of chunks(body.pipeThrough(new TextDecoderStream()))) {
    const parts = (rest + text).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      if (data.length) yield data.join("\n");
    }
  }
}

// Not every browser can iterate over a stream.
async function* chunks(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

async function answer(signal) {
  const item = show("assistant", "");
  const response = await fetch("../v1/chat/completions", {
    method: "POST", signal, headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: "river", messages, stream: true }),
  });
  if (!response.ok) {
    item.classList.add("failed");
    item.textContent = (await response.json()).error.message;
    return;
  }
  try {
    for await (const data of events(response.body)) {
      if (data === "[DONE]") break;
      item.textContent += JSON.parse(data).choices[0]?.delta.content ?? "";
    }
  } finally {
    messages.push({ role: "assistant", content: item.textContent });
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const controller = new AbortController();
  stop.onclick = () => controller.abort();
  messages.push({ role: "user", content: question.value });
  show("user", question.value);
  question.value = "";
  stop.disabled = false;
  form.querySelector("button").disabled = true;
  try {
    await answer(controller.signal);
  } catch (error) {
    if (error.name !== "AbortError") show("assistant failed", String(error));
  }
  stop.disabled = true;
  form.querySelector("button").disabled = false;
  question.focus();
});
