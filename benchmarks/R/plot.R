# The picture of a result: CPU time per request of each server as a multiple of nginx's, by scenario, with what is asked
# of drover marked.

plot_results <- function(results, file) {
  summary <- summarise_rounds(results$rounds)
  scenarios <- results$scenarios
  peers <- setdiff(names(results$versions), "nginx")
  if (length(peers) == 0L) return(invisible())
  ratio <- outer(peers, names(scenarios), Vectorize(function(peer, scenario) {
    c(summary$cpu_ratio[summary$peer == peer & summary$scenario == scenario], NA)[1]
  }))
  colours <- grDevices::hcl.colors(length(peers), "Dark 3")

  grDevices::svg(file, width = 9, height = 5)
  on.exit(grDevices::dev.off())
  graphics::par(mar = c(4, 5.5, 3, 1), mgp = c(4, 0.8, 0), las = 1)
  # From 0.5 on a logarithmic axis: the servers are orders of magnitude apart.
  top <- max(ratio, na.rm = TRUE) * 2.5
  middles <- graphics::barplot(
    ratio, beside = TRUE, log = "y", ylim = c(0.5, top), names.arg = names(scenarios), col = colours, border = NA,
    ylab = "server CPU per request / nginx (log scale)", main = "CPU time per request, as a multiple of nginx's"
  )
  middles <- matrix(middles, nrow = length(peers))
  graphics::text(middles, ratio, ifelse(is.na(ratio), "", signif(ratio, 3)), pos = 3, cex = 0.7, xpd = TRUE)
  graphics::abline(h = 1, lty = 3)
  drover <- match("drover", peers)
  asked <- vapply(scenarios, `[[`, 0, "asked")
  if (!is.na(drover)) {
    graphics::segments(middles[drover, ] - 0.6, asked, middles[drover, ] + 0.6, asked, lwd = 3)
  }
  graphics::legend(
    "topleft", c(peers, "asked of drover", "nginx"), horiz = TRUE, bty = "n", cex = 0.8,
    fill = c(colours, NA, NA), border = NA, lty = c(rep(NA, length(peers)), 1, 3), lwd = c(rep(NA, length(peers)), 3, 1)
  )
}
