startTensors();
startScopes();
if (TIMELINE) {
  const showReading = startMoment();
  const chart = startChart(showReading);
  startTheme(chart.redraw);
} else {
  startTheme(() => {});
}
document.documentElement.dataset.ready = "yes";
