// The websocket: JSON both ways; a view may have pixels behind its JSON.

export const stats = { latencies: [], frames: 0, began: 0, pressed: new Map() };

export function connect(handlers, onclose) {
  const socket = new WebSocket(`ws://${location.host}/session`);
  socket.binaryType = "arraybuffer";
  const send = (message) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  socket.onmessage = (event) => {
    let message, pixels = null;
    if (typeof event.data === "string") {
      message = JSON.parse(event.data);
    } else {
      const length = new DataView(event.data).getUint32(0, true);
      message = JSON.parse(new TextDecoder().decode(new Uint8Array(event.data, 4, length)));
      pixels = new Uint8Array(event.data, 4 + length);
    }
    try {
      const handle = handlers[message.kind];
      if (handle) handle(message, pixels);
    } finally {
      if (message.kind === "view") {
        send({ kind: "ack", number: message.number });
        count(message);
      }
    }
  };
  socket.onclose = (event) => onclose(event.reason);
  return send;
}

function count(view) {
  stats.frames += 1;
  for (const [serial, when] of stats.pressed) {
    if (serial <= view.key) {
      stats.latencies.push(performance.now() - when);
      stats.pressed.delete(serial);
    }
  }
  if (stats.latencies.length > 1000) stats.latencies.splice(0, 500);
}
