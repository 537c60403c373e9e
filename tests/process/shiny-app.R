# An app of Shiny: what it does is noted as `notes`. Shiny takes it that the usual packages are attached.
for (one in c("methods", "stats", "utils", "grDevices", "graphics", "drover", "shiny")) {
  library(one, character.only = TRUE)
}
sys.source(Sys.getenv("GATES"), globalenv())

onStop(function() note("notes", "stopped"))

shinyApp(
  # a part of the page whose files Shiny knows the folder of when it has rendered it
  fluidPage(
    textInput("name", "Name"), textOutput("greeting"), uiOutput("widget"), downloadButton("data"),
    fileInput("file", "File")
  ),
  function(input, output, session) {
    session$allowReconnect(TRUE)
    session$onSessionEnded(function() note("notes", paste("ended", isolate(input$name))))
    output$greeting <- renderText(paste0("Hello, ", input$name, "!"))
    output$pid <- renderText(Sys.getpid())
    output$random <- renderText(paste(session$token, stats::runif(1)))
    ticks <- 0
    output$ticks <- renderText({
      invalidateLater(20)
      ticks <<- ticks + 1
      ticks
    })
    kept <- reactiveVal("nothing")
    output$kept <- renderText(kept())
    observeEvent(input$promise, {
      promises::then(promises::promise_resolve(paste("kept", input$promise)), function(value) kept(value))
      NULL
    })
    observeEvent(input$later, later::later(function() kept("later"), 0.02))
    output$widget <- renderUI({
      folder <- file.path(tempdir(), paste0("widget-", Sys.getpid()))
      dir.create(folder, showWarnings = FALSE)
      writeLines("the widget", file.path(folder, "widget.js"))
      tagList("widget", htmltools::htmlDependency(paste0("widget", input$name), "1.0", folder, script = "widget.js"))
    })
    output$wrong <- renderText(if (isTRUE(input$wrong)) stop("a secret of the app"))
    observe(if (length(input$busy)) stand_at(input$busy))
    observe(if (isTRUE(input$fail)) stop("another secret"))
    observe(if (isTRUE(input$quit)) stopApp())
    output$file <- renderText({
      req(input$file)
      paste(input$file$name, paste(readLines(input$file$datapath), collapse = "|"))
    })
    output$data <- downloadHandler("data.csv", function(file) writeLines(paste("data of", input$name), file))
  }
)
