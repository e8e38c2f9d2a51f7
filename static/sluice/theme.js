/* Light or dark, decided before the first paint: what was chosen here before, else what the system prefers.
   Loaded without defer on purpose; everything else lies in console.js. */
(function () {
  "use strict";
  let chosen = null;
  try {
    chosen = localStorage.getItem("sluice-theme");
  } catch {
    /* storage may be closed to us: the system's preference is good enough */
  }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.bsTheme = dark ? "dark" : "light";
})();
