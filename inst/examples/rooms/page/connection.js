// A WebSocket that connects again when it has ended. Not for what is sent over it: rooms.js.

const FIRST_DELAY = 500;
const LONGEST_DELAY = 30000;
// A connection that ends earlier than this did not help: the next attempt waits longer.
const LASTING = 5000;

// Calls on.message(value) for each message, on.open(), and on.closed(seconds until the next attempt).
export function connect(url, on) {
  let delay = FIRST_DELAY;
  let socket;

  function open() {
    let opened;
    socket = new WebSocket(url);
    socket.onopen = () => {
      opened = Date.now();
      on.open();
    };
    socket.onmessage = (event) => on.message(JSON.parse(event.data));
    socket.onclose = () => {
      if (opened && Date.now() - opened > LASTING) delay = FIRST_DELAY;
      // at random: all pages of a server that was restarted would come back at once
      const wait = delay * (0.5 + Math.random() / 2);
      delay = Math.min(2 * delay, LONGEST_DELAY);
      on.closed(wait / 1000);
      setTimeout(open, wait);
    };
  }

  open();
  // Whether the text was given to a connection that was open.
  function send(text) {
    if (socket.readyState !== WebSocket.OPEN) return false;
    socket.send(text);
    return true;
  }
  return { send };
}
