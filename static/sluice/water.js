/* The water level over time: the figures of `data-figure` as stacked bars, one for each span, in the colours of the theme.

   Loaded on that page alone. Without scripts the table below the chart says the same. */
(function () {
  "use strict";

  const chart = document.getElementById("chart");
  if (!chart || !window.Plotly) return;
  const root = document.documentElement;
  const figure = JSON.parse(chart.dataset.figure);
  const locale = root.lang === "en" ? "en-GB" : root.lang;
  const HOUR = 3600;
  const TICK_EVERY = { 600: 4 * HOUR, 3600: 24 * HOUR, 10800: 5 * 24 * HOUR };

  /* colour of the ground, colour and shape of its pattern, by the name of the part */
  const FILLS = {
    used: ["--sl-used"],
    reserved: ["--sl-reserved-soft", "--sl-reserved", "/"],
    other: ["--sl-track"],
    unusable: ["--sl-sunken", "--sl-line-ink", "x"],
    free: ["--sl-free"],
    down: ["--sl-sick-soft", "--sl-sick", "x"],
  };

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const two = (number) => String(number).padStart(2, "0");

  /** Times as the axis wants them, without a zone: the reader's own where the page shows those, else the server's. */
  function times() {
    if (!("localTimes" in root.dataset)) return figure.at;
    return figure.at.map((_, index) => {
      const at = new Date((figure.start + index * figure.step) * 1000);
      const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
      return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`;
    });
  }

  /** Where the axis has words: on full hours or days of the reader's clock. */
  function ticks(at) {
    const every = TICK_EVERY[figure.step];
    const form = every < 24 * HOUR ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } : { day: "numeric", month: "short" };
    const words = new Intl.DateTimeFormat(locale, { ...form, timeZone: "UTC" });
    const isFull = (time) => (new Date(`${time}:00Z`).getTime() / 1000) % every === 0;
    const tickvals = at.filter(isFull);
    return { tickvals, ticktext: tickvals.map((time) => words.format(new Date(`${time}:00Z`))) };
  }

  function bars(x) {
    return figure.series.map((part) => {
      const [ground, sign, shape] = FILLS[part.name];
      return {
        type: "bar",
        name: part.label,
        x,
        y: part.cards,
        offset: 0,
        width: figure.step * 1000,
        marker: {
          color: colour(ground),
          line: { width: 0 },
          pattern: shape ? { shape, bgcolor: colour(ground), fgcolor: colour(sign), size: 5, solidity: 0.3 } : {},
        },
        hovertemplate: "%{y}",
      };
    });
  }

  function draw() {
    const x = times();
    const end = new Date(new Date(`${x.at(-1)}:00Z`).getTime() + figure.step * 1000).toISOString().slice(0, 16);
    const line = {
      type: "scatter",
      mode: "lines",
      name: figure.capacityLabel,
      x: [...x, end],
      y: [...figure.capacity, figure.capacity.at(-1)],
      connectgaps: false,
      line: { color: colour("--sl-ink"), width: 1.5, shape: "hv" },
      hovertemplate: "%{y}",
    };
    const axis = { fixedrange: true, linecolor: colour("--sl-line-ink"), gridcolor: colour("--sl-line"), zeroline: false };
    const layout = {
      barmode: "stack",
      bargap: 0,
      showlegend: false,
      hovermode: "x unified",
      dragmode: false,
      margin: { l: 44, r: 8, t: 8, b: 28 },
      paper_bgcolor: colour("--sl-surface"),
      plot_bgcolor: colour("--sl-surface"),
      font: { family: colour("--sl-font"), size: 11, color: colour("--sl-ink-quiet") },
      hoverlabel: { bgcolor: colour("--sl-surface"), bordercolor: colour("--sl-line-strong"), font: { color: colour("--sl-ink") } },
      xaxis: { ...axis, ...ticks(x), type: "date", showgrid: false, hoverformat: "%Y-%m-%d %H:%M", tickmode: "array" },
      yaxis: { ...axis, rangemode: "tozero", tickformat: ",d" },
    };
    chart.hidden = false;
    Plotly.react(chart, [...bars(x), line], layout, { displayModeBar: false, responsive: true });
  }

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-theme-switch]")) requestAnimationFrame(draw); // the other sheet applies by then
  });
})();
