# The end of a script whose server was ended by a signal. What stands after dr_serve() still runs, such as what tidies
# up; but many scripts end in a loop that waits for ever, as servers that do not block have to be used. Neighbour:
# serve.R.

# Called after the server has ended. Ctrl-C and SIGTERM would have ended the script without us.
leave_by_signal <- function() {
  if (interactive()) return()
  .Call(C_leave_when_waiting, end_script)
  # the script may load it for its loop only
  when_loaded("later", function() later::later(end_script))
}

# Unless it serves again.
end_script <- function() if (!engine_running()) quit(save = "no")
