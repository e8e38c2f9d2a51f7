/* What the consoles gain from scripts. Every page works without this file: links lead, forms post, tables page.

   It adds: confirmations in a dialog, calm polling, logs that follow, times in the reader's zone. */
(function () {
  "use strict";

  const LOG_LINES_KEPT = 5000;
  const FAILURES_UNTIL_STALE = 3;
  const root = document.documentElement;

  /* ---- menus, dialogs, copying: one listener ---- */

  function copyText(button) {
    const source = document.getElementById(button.dataset.copy);
    navigator.clipboard.writeText(source.value ?? source.textContent).then(() => {
      const said = button.querySelector("[data-copied]");
      if (said) said.textContent = button.dataset.copiedText;
    });
  }

  document.addEventListener("click", (event) => {
    const hit = event.target.closest("[data-close], [data-copy]");
    for (const menu of document.querySelectorAll("details[data-menu][open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
    if (!hit) return;
    if ("copy" in hit.dataset) copyText(hit);
    else if (hit.closest("dialog")) {
      event.preventDefault(); // the safe button is a link back, for the page without scripts
      hit.closest("dialog").close();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of document.querySelectorAll("details[data-menu][open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });

  /* ---- a form that sends itself when a choice changes (filters) ---- */

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-submit-on-change]");
    if (form) form.requestSubmit();
  });

  /* ---- a double click is one click ---- */

  const DOUBLE_CLICK_MS = 2000;
  const sentAt = new WeakMap(); // form -> when

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.getAttribute("method") !== "post" || event.defaultPrevented) return;
    if (Date.now() - (sentAt.get(form) ?? 0) < DOUBLE_CLICK_MS) event.preventDefault();
    else sentAt.set(form, Date.now());
  });

  /* ---- confirmations: the page of the question is fetched into the dialog ---- */

  document.addEventListener("htmx:afterSwap", (event) => {
    const dialog = event.detail.target.closest("dialog[data-confirm]");
    if (!dialog || dialog.open) return;
    dialog.showModal();
    (dialog.querySelector("[aria-invalid=true]") ?? dialog.querySelector("[data-close]"))?.focus();
  });

  /* ---- polling that never disturbs: answers are morphed in; what a reader has opened or ticked stays so ---- */

  const failures = new Map(); // region id -> polls that failed in a row

  const isPoll = (element) => /\bevery\b/.test(element.getAttribute("hx-trigger") ?? "");

  if (window.Idiomorph) {
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, element) =>
      !(name === "open" && element.matches("details, dialog")) && !(name === "checked" && element.name === "ids");
  }

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isPoll(event.detail.elt) && document.hidden) event.preventDefault();
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    const selection = document.getSelection();
    const reading = selection && !selection.isCollapsed && event.detail.target.contains(selection.anchorNode);
    if (reading && isPoll(event.detail.requestConfig.elt)) event.detail.shouldSwap = false;
  });

  /** Keep what is shown, but say that it is old. `failed` counts up, a poll that came back starts again at none. */
  function noteOutcome(region, failed) {
    if (!region.id || !isPoll(region)) return;
    failures.set(region.id, failed ? (failures.get(region.id) ?? 0) + 1 : 0);
    region.classList.toggle("sl-stale", failures.get(region.id) >= FAILURES_UNTIL_STALE);
    const stale = [...failures.values()].some((count) => count >= FAILURES_UNTIL_STALE);
    for (const sign of document.querySelectorAll("[data-live]")) {
      sign.classList.toggle("sl-fresh-stale", stale);
      sign.textContent = stale ? sign.dataset.staleText : sign.dataset.live;
    }
  }

  document.addEventListener("htmx:responseError", (event) => noteOutcome(event.detail.elt, true));
  document.addEventListener("htmx:sendError", (event) => noteOutcome(event.detail.elt, true));
  document.addEventListener("htmx:afterOnLoad", (event) => {
    if (event.detail.xhr.status < 400) noteOutcome(event.detail.elt, false);
  });

  /* ---- logs: follow the end until the reader scrolls up; keep the page small ---- */

  const nearEnd = (log) => log.scrollHeight - log.scrollTop - log.clientHeight < 24;
  const followed = new WeakSet();

  function startFollowing() {
    for (const log of document.querySelectorAll("[data-follow]")) {
      if (followed.has(log)) continue;
      followed.add(log);
      log.scrollTop = log.scrollHeight;
    }
  }

  document.addEventListener("htmx:beforeSwap", (event) => {
    const log = event.detail.target.closest("[data-follow]");
    if (log) log.dataset.follow = nearEnd(log) ? "end" : "";
  });

  document.addEventListener("htmx:afterSettle", () => {
    for (const log of document.querySelectorAll("[data-follow=end]")) {
      const lines = log.querySelectorAll("li");
      for (let i = 0; i < lines.length - LOG_LINES_KEPT; i += 1) lines[i].remove();
      log.scrollTop = log.scrollHeight;
    }
  });

  /* ---- times: in the reader's own zone unless the person chose one; ages that go on ---- */

  const SHAPES = {
    clock: { hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
    second: { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
    day: { day: "numeric", month: "short" },
    date: { day: "numeric", month: "short" },
    stamp: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" },
  };
  const locale = root.lang === "en" ? "en-GB" : root.lang;

  function localWords(at, shape) {
    const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
    const daysAgo = Math.round((midnight(new Date()) - midnight(at)) / 86400000);
    if (shape === "day" && (daysAgo === 0 || daysAgo === 1)) {
      return new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(-daysAgo, "day");
    }
    const format = { ...(shape === "stamp" && daysAgo === 0 ? SHAPES.clock : SHAPES[shape]) };
    if (format.day && at.getFullYear() !== new Date().getFullYear()) format.year = "numeric";
    return new Intl.DateTimeFormat(locale, format).format(at);
  }

  function showLocalTimes() {
    if (!("localTimes" in root.dataset)) return;
    for (const time of document.querySelectorAll("time[data-shape]")) {
      const at = new Date(time.dateTime);
      time.textContent = localWords(at, time.dataset.shape);
      time.title = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "long" }).format(at);
      delete time.dataset.shape;
    }
    for (const tick of document.querySelectorAll("svg text[data-shape]")) {
      tick.textContent = localWords(new Date(tick.dataset.at), tick.dataset.shape);
      delete tick.dataset.shape;
    }
  }

  /** Ages are written by the server; between two answers they are counted on in its words (data-ago-*). */
  function countAges() {
    for (const time of document.querySelectorAll("time[data-ago-s]")) {
      const seconds = Math.max(0, Math.round((Date.now() - new Date(time.dateTime)) / 1000));
      const { agoS, agoMin, agoH } = time.dataset;
      const [words, size] = seconds < 60 ? [agoS, 1] : seconds < 7200 ? [agoMin, 60] : [agoH, 3600];
      const text = words.replace("{n}", Math.floor(seconds / size));
      if (time.textContent !== text) time.textContent = text;
    }
  }

  /** What only scripts can do is offered by them. */
  function offer() {
    for (const element of document.querySelectorAll("[data-copy][hidden], [data-live][hidden]")) element.hidden = false;
  }

  function refresh() {
    offer();
    showLocalTimes();
    countAges();
    startFollowing();
  }

  document.addEventListener("DOMContentLoaded", refresh);
  document.addEventListener("htmx:afterSettle", refresh);
  setInterval(() => {
    if (!document.hidden) countAges();
  }, 5000);
})();
