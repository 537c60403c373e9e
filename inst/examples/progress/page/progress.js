// The page of the progress: shows each step, and adds up what the steps have found.

const STEPS = 100;
const FIRST_DELAY = 500;
const LONGEST_DELAY = 30000;

const byId = (id) => document.getElementById(id);
let source;
let timer;
let delay;
let last;
let inside;
let points;

function show() {
  const percent = Math.round((100 * last) / STEPS);
  byId("bar").value = percent;
  byId("percent").textContent = `${percent} %`;
  byId("estimate").textContent = points ? ((4 * inside) / points).toFixed(5) : "–";
  byId("points").textContent = points ? `from ${points.toLocaleString("en")} points` : "no points yet";
}

function running(state, is = true) {
  byId("state").textContent = state;
  byId("start").disabled = is;
  byId("stop").disabled = !is;
}

function end(state) {
  source?.close();
  clearTimeout(timer);
  byId("start").textContent = last > 0 && last < STEPS ? "Go on" : "Start";
  running(state, false);
}

function open() {
  source = new EventSource(`../pi?steps=${STEPS}&after=${last}`);
  source.addEventListener("step", (event) => {
    const found = JSON.parse(event.data);
    last = found.step;
    inside += found.inside;
    points += found.points;
    delay = FIRST_DELAY;
    running("running");
    show();
    if (last === found.steps) end("done");
  });
  source.onerror = () => {
    running("connecting again");
    // the browser comes back by itself, with the last id, unless it got an answer that is no stream of events
    if (source.readyState !== EventSource.CLOSED) return;
    timer = setTimeout(open, delay * (0.5 + Math.random() / 2));
    delay = Math.min(2 * delay, LONGEST_DELAY);
  };
}

byId("start").addEventListener("click", () => {
  if (!last || last === STEPS) last = inside = points = 0;
  delay = FIRST_DELAY;
  show();
  running("running");
  open();
});

byId("stop").addEventListener("click", () => end("stopped"));
