# What the conformance suite of the Model Context Protocol asks a server for: tools, resources and prompts by the names
# that it knows. Not an example to begin with: inst/examples/tools. Run by run.sh.

library(drover)

app <- dr_app()

picture <- function() dr_png(plot(cars), width = 300, height = 300)
silence <- dr_response(
  c(charToRaw("RIFF"), as.raw(c(36, 0, 0, 0)), charToRaw("WAVEfmt "), as.raw(c(16, 0, 0, 0, 1, 0, 1, 0)),
    as.raw(c(0x40, 0x1f, 0, 0, 0x40, 0x1f, 0, 0, 1, 0, 8, 0)), charToRaw("data"), as.raw(c(0, 0, 0, 0))),
  headers = list("Content-Type" = "audio/wav")
)

name_form <- dr_mcp_form("What is your name?", list(name = dr_chr()))

asking_tool <- function(name, fun) dr_tool(fun, name, "Asks its client")

asking_tools <- list(
  asking_tool("test_input_required_result_elicitation", function() {
    paste0("Hello, ", dr_mcp_ask(user_name = name_form)$user_name$name, "!")
  }),
  asking_tool("test_streaming_elicitation", function() dr_mcp_ask(user_name = name_form)$user_name$name),
  asking_tool("test_input_required_result_sampling", function() {
    dr_mcp_ask(capital_question = dr_mcp_sampling("What is the capital of France?", 100))$capital_question$text
  }),
  asking_tool("test_missing_capability", function() dr_mcp_ask(said = dr_mcp_sampling("Hello?", 10))$said$text),
  asking_tool("test_input_required_result_list_roots", function() {
    paste("Roots:", dr_mcp_ask(client_roots = dr_mcp_roots())$client_roots$uri)
  }),
  asking_tool("test_input_required_result_request_state", function() {
    if (dr_mcp_ask(confirm = dr_mcp_form("Please confirm", list(ok = dr_lgl())))$confirm$ok) "state-ok" else "state-no"
  }),
  asking_tool("test_input_required_result_tampered_state", function() {
    dr_mcp_ask(confirm = dr_mcp_form("Please confirm", list(ok = dr_lgl())))$confirm$ok
  }),
  asking_tool("test_input_required_result_multiple_inputs", function() {
    answers <- dr_mcp_ask(
      user_name = name_form, greeting = dr_mcp_sampling("Generate a greeting", 50), client_roots = dr_mcp_roots()
    )
    paste(answers$greeting$text, answers$user_name$name)
  }),
  asking_tool("test_input_required_result_multi_round", function() {
    name <- dr_mcp_ask(step1 = dr_mcp_form("Step 1: What is your name?", list(name = dr_chr())))$step1$name
    colour <- dr_mcp_ask(step2 = dr_mcp_form("Step 2: What is your favorite color?", list(color = dr_chr())))$step2$color
    paste(name, "likes", colour)
  }),
  asking_tool("test_input_required_result_capabilities", function() {
    questions <- list(
      form = name_form, sampling = dr_mcp_sampling("Say hello", 10), roots = dr_mcp_roots()
    )
    names(do.call(dr_mcp_ask, questions[vapply(names(questions), dr_mcp_can, NA)]))
  })
)

enums <- dr_schema('{"type": "object", "properties": {
  "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
  "titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"},
    {"const": "value2", "title": "Second Option"}]},
  "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
  "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
  "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"},
    {"const": "value2", "title": "Second Choice"}]}}
}}')

# those of the older revision, whose names are others
older_tools <- list(
  dr_tool(function(message) {
    fields <- list(
      username = dr_chr(description = "User's response"), email = dr_chr(description = "User's email address")
    )
    paste("User response:", dr_to_json(dr_mcp_ask(user = dr_mcp_form(message, fields))$user))
  }, "test_elicitation", "Asks a person", list(message = dr_chr())),
  dr_tool(function(prompt) {
    paste("LLM response:", dr_mcp_ask(said = dr_mcp_sampling(prompt, 100))$said$text)
  }, "test_sampling", "Asks the model", list(prompt = dr_chr())),
  asking_tool("test_elicitation_sep1034_defaults", function() {
    fields <- list(
      name = dr_chr(default = "John Doe"), age = dr_int(default = 30L), score = dr_dbl(default = 95.5),
      status = dr_factor(c("active", "inactive", "pending"), default = "active"), verified = dr_lgl(default = TRUE)
    )
    paste("Elicitation completed:", dr_to_json(dr_mcp_ask(all = dr_mcp_form("Please fill in", fields))$all))
  }),
  asking_tool("test_elicitation_sep1330_enums", function() {
    paste("Elicitation completed:", dr_to_json(dr_mcp_ask(all = dr_mcp_form("Please choose", enums))$all))
  }),
  dr_tool(function() {
    for (what in c("started", "processing data", "completed")) dr_mcp_log("info", paste("Tool execution", what))
    "done"
  }, "test_tool_with_logging", "Log messages")
)

# its keywords are to arrive as they are
schema <- dr_schema('{
  "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
  "$defs": {"address": {"$anchor": "addressDef", "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
  "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"},
    "email": {"type": "string"}},
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": false
}')

tools <- list(
  dr_tool(function() "This is a simple text response for testing.", "test_simple_text", "A text"),
  dr_tool(function() picture(), "test_image_content", "A picture"),
  dr_tool(function() silence, "test_audio_content", "A sound"),
  dr_tool(
    function() dr_mcp_content("test://embedded-resource" = "This is an embedded resource content."),
    "test_embedded_resource", "A resource"
  ),
  dr_tool(function() {
    dr_mcp_content(
      "Multiple content types test:", picture(), "test://mixed-content-resource" = list(test = "data", value = 123L)
    )
  }, "test_multiple_content_types", "Several"),
  dr_tool(
    function() dr_abort(422L, "This tool intentionally returns an error for testing"), "test_error_handling", "An error"
  ),
  dr_tool(function() {
    for (done in c(0, 50, 100)) dr_progress(done, 100)
    "done"
  }, "test_tool_with_progress", "Progress"),
  dr_tool(function() {
    dr_mcp_log("info", "a message")
    "done"
  }, "test_logging_tool", "Log messages"),
  dr_tool(function(...) "valid", "json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", schema)
)

# of the extension for tasks
confirm_form <- function(message) dr_mcp_form(message, list(confirm = dr_lgl()))
task_tools <- list(
  dr_tool(function(name) paste0("Hello, ", name, "!"), "greet", "Greets", list(name = dr_chr())),
  dr_tool(function(seconds, label) {
    Sys.sleep(seconds)
    paste("slept for", label)
  }, "slow_compute", "Sleeps", list(seconds = dr_dbl(min = 0), label = dr_chr(default = "nothing")), task = TRUE),
  dr_tool(function() dr_abort(422L, "it always fails"), "failing_job", "Fails", task = list(required = TRUE)),
  dr_tool(function() repeat Sys.sleep(1), "protocol_error_job", "Takes too long", task = list(timeout = 0.2)),
  dr_tool(function(filename) {
    if (dr_mcp_ask(sure = confirm_form(paste("Delete", filename)))$sure$confirm) "deleted" else "kept"
  }, "confirm_delete", "Deletes, if it is confirmed", list(filename = dr_chr()), task = TRUE),
  dr_tool(function() {
    all(vapply(dr_mcp_ask(one = confirm_form("One?"), two = confirm_form("Two?")), `[[`, NA, "confirm"))
  }, "multi_input", "Asks twice at once", task = TRUE),
  dr_tool(function() {
    name <- dr_mcp_ask(user_name = name_form)$user_name$name
    dr_mcp_task()
    paste0("Hello, ", name, "!")
  }, "test_tool_with_task", "Asks, and then becomes a task", task = list(required = TRUE, from_start = FALSE))
)

resources <- list(
  dr_mcp_resource("test://static-text", "This is the content of the static text resource.", "text", "A text",
    mime_type = "text/plain"),
  dr_mcp_resource("test://watched-resource", "Nothing happens here.", "watched", "A text that may change"),
  dr_mcp_resource("test://static-binary", function() picture(), "picture", "A picture", mime_type = "image/png"),
  dr_mcp_resource(
    "test://template/{id}/data",
    function(id) list(id = id, templateTest = TRUE, data = paste("Data for ID:", id)),
    "template", "Data by an id", mime_type = "application/json", complete = list(id = c("1", "12", "123"))
  )
)

prompts <- list(
  dr_mcp_prompt(function() "This is a simple prompt for testing.", "test_simple_prompt", "A text"),
  dr_mcp_prompt(
    function(arg1, arg2) sprintf("Prompt with arguments: arg1='%s', arg2='%s'", arg1, arg2),
    "test_prompt_with_arguments", "Two arguments",
    list(arg1 = dr_chr(description = "the first"), arg2 = dr_chr(description = "the second")),
    complete = list(arg1 = c("paris", "park", "party"))
  ),
  dr_mcp_prompt(
    function(resourceUri) { # nolint
      resource <- stats::setNames(list("Embedded resource content for testing."), resourceUri)
      list(do.call(dr_mcp_content, resource), "Please process the embedded resource above.")
    }, "test_prompt_with_embedded_resource", "A resource", list(resourceUri = dr_chr(description = "of the resource"))
  ),
  dr_mcp_prompt(
    function() dr_mcp_content(picture(), "Please analyze the image above."), "test_prompt_with_image", "A picture"
  ),
  dr_mcp_prompt(function() {
    dr_mcp_ask(user_context = dr_mcp_form("What context should the prompt use?", list(context = dr_chr())))[[1]]$context
  }, "test_input_required_result_prompt", "Asks its client")
)

dr_mcp(app, "/mcp", tools = c(tools, asking_tools, older_tools, task_tools), resources = resources, prompts = prompts,
  name = "drover-conformance")
app
