// The page of the rooms: enters one, shows what is said and who is there. What people write is put into the page as
// text (textContent), never as HTML. Not for staying connected: connection.js.

import { connect } from "./connection.js";

const MOST_SHOWN = 500;

const byId = (id) => document.getElementById(id);
const messages = byId("messages");
const send = byId("say").querySelector("button");
let connection;
let own;
// Who is there by the last list, id -> name; null until the first list of a connection.
let here = null;

function element(tag, text, className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

function show(item) {
  const atEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 40;
  messages.append(item);
  while (messages.children.length > MOST_SHOWN) messages.firstChild.remove();
  // who has scrolled up is reading
  if (atEnd) messages.scrollTop = messages.scrollHeight;
}

const note = (text) => show(element("li", text, "note"));

function showMessage({ id, from, text, at }) {
  const item = element("li", "", id === own ? "own" : "");
  const time = element("time", new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
  time.dateTime = at;
  item.append(time, element("b", from), text);
  show(item);
}

function showMembers(members) {
  const now = new Map(members.map(({ id, name }) => [id, name]));
  if (here) {
    for (const [id, name] of now) if (!here.has(id)) note(`${name} has come`);
    for (const [id, name] of here) if (!now.has(id)) note(`${name} has left`);
  }
  here = now;
  byId("members").replaceChildren(...members.map(({ id, name }) => element("li", name, id === own ? "own" : "")));
}

function receive(said) {
  switch (said.type) {
    case "welcome": own = said.id; break;
    case "members": showMembers(said.members); break;
    case "message": showMessage(said); break;
    case "refused":
      note(said.why);
      if (!byId("text").value) byId("text").value = said.text;
      break;
  }
}

function showState(text, away) {
  byId("state").textContent = text;
  byId("state").className = away ? "away" : "";
  send.disabled = away;
}

function enter(name, room) {
  const url = new URL(`../rooms/${encodeURIComponent(room)}`, location);
  url.protocol = location.protocol.replace("http", "ws");
  url.searchParams.set("name", name);
  byId("title").textContent = room;
  byId("enter").hidden = true;
  byId("chat").hidden = false;
  byId("text").focus();
  showState("connecting", true);
  connection = connect(url, {
    message: receive,
    open: () => {
      here = null;
      showState("connected", false);
    },
    closed: (seconds) => showState(`not connected; next attempt in ${Math.ceil(seconds)} s`, true),
  });
}

byId("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  enter(byId("name").value.trim(), byId("room").value.trim());
});

byId("say").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("text");
  if (text.value.trim() && connection.send(text.value)) text.value = "";
});

// Rooms to choose from. Without them, one can still be typed.
const rooms = await fetch("../rooms").then((response) => (response.ok ? response.json() : [])).catch(() => []);
byId("open").replaceChildren(...rooms.map(({ room, members }) => {
  const option = element("option", `${members} here`);
  option.value = room;
  return option;
}));
