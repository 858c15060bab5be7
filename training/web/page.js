// The page of `jaxgames play`: shows what the server tells, and tells it what is clicked, dragged or typed.

const byId = (id) => document.getElementById(id);
const SHOWN_OPINIONS = 8;

let socket, table, state, opinion;
let log = [];
let view = null; // an earlier moment that is looked at; null: the present one
let picked = []; // spots that have been clicked of a move of several
let pressed = null; // the spot on which the pointer went down
let patience = 250; // milliseconds until the next try to reach the server
let gamesTimer, again, replaying;
let failure = ""; // of an agent, as told last
let notice = ""; // why this is another game than the one asked for; it stays until something is done
let opening = false; // a session was asked for, and has not begun

// --- the server --------------------------------------------------------------------------------------------------------

function connect() {
  socket = new WebSocket(`ws://${location.host}/socket`);
  socket.onopen = () => {
    patience = 250;
    opening = true;
    say({ do: "open", session: decodeURIComponent(location.hash.slice(1)) });
  };
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    told[message.type]?.(message);
  };
  socket.onclose = (event) => {
    clearTimeout(again);
    complain(event.code === 1009 ? "that was too large for the server" : "the server cannot be reached, trying again");
    setTimeout(connect, patience);
    patience = Math.min(2 * patience, 5000);
  };
}

function say(message) {
  if (message.do !== "games") notice = "";
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

const told = {
  table(message) {
    table = message;
    state = opinion = view = null;
    log = [];
    history.replaceState(null, "", `#${encodeURIComponent(table.session)}`);
    byId("title").textContent = table.game.replaceAll("_", " ");
    byId("mode").textContent = table.mode;
    document.title = `${table.game.replaceAll("_", " ")} – jaxgames`;
    byId("log").querySelector("ol").replaceChildren();
    failure = "";
    notice = message.notice;
    opening = false;
    complain("");
    clearTimeout(again);
    clearInterval(gamesTimer);
    byId("games").hidden = !table.live;
    if (table.live) {
      say({ do: "games" });
      gamesTimer = setInterval(() => opening || say({ do: "games" }), 2000);
    }
    for (const id of ["back", "advice", "fresh"]) byId(id).hidden = table.live;
    byId("advice").hidden ||= table.person === null;
  },
  state(message) {
    const follows = state && state.game === message.game && !view;
    const moved = state && (state.game !== message.game || state.at !== message.at);
    state = message;
    if (!follows) view = null;
    log.length = message.log_from;
    log.push(...message.log);
    opinion = null;
    if (!follows || !goingOn().length) picked = []; // by the clock, steps come while something is dragged
    if (moved || message.failure !== failure) complain((failure = message.failure));
    if (byId("choice").open) byId("choice").close();
    showLog(message.log_from);
    show();
  },
  clock(message) {
    Object.assign(state, message, { type: "state" });
    if (message.failure !== failure) complain((failure = message.failure));
    showClock();
  },
  view(message) {
    view = message.shown === state.at ? null : message;
    show();
  },
  opinion(message) {
    if (!state) return;
    if (message.game === state.game && message.at === state.at) opinion = message;
    showClock();
    showOpinion();
  },
  saved(message) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([message.text], { type: "application/json" }));
    link.download = message.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  },
  games(message) {
    byId("games").querySelector(".list").replaceChildren(
      ...message.games.map((game) => {
        const button = make("button", `${game.number}: ${game.steps} step${game.steps === 1 ? "" : "s"}${game.over ? ", over" : ""}`);
        button.classList.toggle("here", game.session === table.session);
        button.onclick = () => say({ do: "open", session: game.session });
        return button;
      }),
    );
  },
  error(message) {
    complain(message.text);
    if (opening) {
      clearTimeout(again);
      again = setTimeout(() => say({ do: "open", session: "" }), 1000); // nothing has begun yet
    } else if (state) {
      state.awaits ||= state.moves.length > 0 && !view; // what was refused may be chosen otherwise
      showClock();
    }
  },
};

function complain(text) {
  byId("error").textContent = text || notice;
  byId("error").hidden = !(text || notice);
}

// --- what is shown -----------------------------------------------------------------------------------------------------

function show() {
  const moment = view ?? state;
  byId("board").innerHTML = moment.picture;
  byId("board").classList.toggle("past", view !== null);
  const svg = byId("board").querySelector("svg");
  if (svg) {
    const layer = document.createElementNS("http://www.w3.org/2000/svg", "g");
    layer.classList.add("spots");
    layer.innerHTML = Object.entries(table.spots)
      .map(([name, shape]) => `<g data-spot="${name}">${shape}</g>`)
      .join("");
    svg.removeAttribute("width");
    svg.removeAttribute("height");
    svg.append(layer);
  }
  const banner = byId("banner");
  banner.hidden = !moment.over;
  banner.textContent = moment.result;
  banner.className = moment.won > 0 ? "won" : moment.won < 0 ? "lost" : "";
  byId("shown").textContent = `${moment.shown} / ${state.at}`;
  byId("here").hidden = view === null || table.live;
  for (const [index, line] of [...byId("log").querySelectorAll("li")].entries()) {
    line.classList.toggle("now", index === moment.shown - 1);
  }
  showClock();
  showMoves();
  showOpinion();
}

function showClock() {
  const moment = view ?? state;
  const players = table.names.map((name, seat) => {
    const item = make("li", name);
    item.title = name;
    item.classList.toggle("person", seat === table.person);
    item.classList.toggle("turn", moment.to_play.includes(seat));
    item.classList.toggle("thinks", !view && state.thinking.includes(name) && moment.to_play.includes(seat) && seat !== table.person);
    return item;
  });
  byId("players").replaceChildren(...players);
  byId("status").replaceChildren(document.createTextNode(headline(moment)), make("small", moment.status));
  byId("clock").hidden = !table.live && (moment.over || !state.all_at_once);
  byId("run").hidden = table.live;
  byId("run").textContent = state.running ? "❚❚ stop" : "▶ run";
  byId("run").classList.toggle("on", state.running);
  byId("pace_told").textContent = `${state.seconds.toFixed(2)} s`;
  if (document.activeElement !== byId("pace")) byId("pace").value = Math.log2(state.seconds);
  byId("advice").disabled = !state.awaits || view !== null;
  byId("back").disabled = state.at === 0;
}

function headline(moment) {
  if (moment.over) return `The game is over: ${moment.result}`;
  if (view) return `Looking at step ${view.shown}`;
  if (state.awaits) return state.all_at_once && state.running ? "Choose before the clock does" : "Your turn";
  if (state.thinking.length) return `${[...new Set(state.thinking)].join(", ")} …`;
  if (table.live) return "As it is played";
  if (state.all_at_once && !state.running) return table.person === null ? "Press run to watch" : "You are out: press run to watch the rest";
  return "";
}

function legalMoves() {
  return view || !state.awaits ? [] : state.moves;
}

/** The legal moves that go on from the spots picked so far. */
function goingOn() {
  return legalMoves().filter(([, , spots]) => spots.length > picked.length && picked.every((spot, place) => spot === spots[place]));
}

function showMoves() {
  const next = new Set(goingOn().map(([, , spots]) => spots[picked.length]));
  const last = new Set(log[(view ?? state).shown - 1]?.spots ?? []);
  for (const spot of document.querySelectorAll("[data-spot]")) {
    const name = spot.dataset.spot;
    spot.classList.toggle("next", next.has(name));
    spot.classList.toggle("many", next.size > 150);
    spot.classList.toggle("picked", picked.includes(name));
    spot.classList.toggle("last", last.has(name) && !picked.length);
  }
  const moves = legalMoves();
  const named = moves.filter(([, , spots]) => spots.length === 0);
  byId("buttons").replaceChildren(...named.map(buttonOf));
  const details = byId("actions");
  details.hidden = moves.length === named.length;
  details.querySelector(".count").textContent = `(${moves.length})`;
  if (details.open && !details.hidden) listActions();
}

function listActions() {
  byId("actions").querySelector(".list").replaceChildren(...legalMoves().map(buttonOf));
}

function buttonOf([action, name]) {
  const button = make("button", name);
  button.dataset.action = action;
  button.onclick = () => act(action);
  return button;
}

function showLog(from) {
  const list = byId("log").querySelector("ol");
  while (list.children.length > from) list.lastChild.remove();
  for (let step = from; step < log.length; step++) {
    const line = make("li", "");
    for (const [seat, text] of log[step].moves) {
      if (!text && log[step].moves.length > 1) continue;
      line.append(make("b", `${shortName(seat)} `), `${text || "hidden"}  `);
    }
    line.onclick = () => look(step + 1);
    list.append(line);
  }
  list.scrollTop = list.scrollHeight;
}

/** The name of a player without settings, or its seat where several are called the same. */
function shortName(seat) {
  const names = table.names.map((name) => name.split(/[:( ]/)[0]);
  return names.indexOf(names[seat]) === names.lastIndexOf(names[seat]) ? names[seat] : seat;
}

function showOpinion() {
  byId("opinion").hidden = !opinion || view !== null;
  document.querySelector(".opinions")?.remove();
  if (!opinion || view) return;
  byId("adviser").textContent = opinion.planner;
  const names = new Map(state.moves.map(([action, name]) => [action, name]));
  const most = Math.max(1, ...opinion.moves.map(([, , visits]) => visits));
  byId("opinion").querySelector("tbody").replaceChildren(
    ...opinion.moves.slice(0, SHOWN_OPINIONS).map(([action, value, visits]) => {
      const row = make("tr", "");
      row.append(make("td", names.get(action) ?? `action ${action}`), make("td", `${Math.round(100 * value)} %`));
      const cell = make("td", "");
      const bar = make("span", "");
      bar.className = "bar";
      bar.style.width = `${(60 * visits) / most}px`;
      cell.append(bar, String(visits));
      row.append(cell);
      row.onclick = () => act(action);
      return row;
    }),
  );
  drawOpinion(most);
}

/** Draws values onto the spots that come next: of each the action that was tried most. */
function drawOpinion(most) {
  const svg = byId("board").querySelector("svg");
  const spotOf = new Map(goingOn().map(([action, , spots]) => [action, spots[picked.length]]));
  const best = new Map();
  for (const [action, value, visits] of opinion.moves) {
    const spot = spotOf.get(action);
    if (spot !== undefined && !best.has(spot)) best.set(spot, [value, visits]);
  }
  const layer = document.createElementNS("http://www.w3.org/2000/svg", "g");
  layer.classList.add("opinions");
  let body = "";
  for (const [spot, [value, visits]] of best) {
    const box = svg.querySelector(`[data-spot="${CSS.escape(spot)}"]`)?.getBBox();
    if (!box) continue;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const side = Math.min(box.width, box.height);
    const radius = side * (0.22 + 0.2 * Math.sqrt(visits / most));
    const words = side >= 26 ? `<text x="${x}" y="${y}">${Math.round(100 * value)}</text>` : "";
    body += `<circle cx="${x}" cy="${y}" r="${radius}" fill="hsl(${120 * value} 62% 38%)" fill-opacity=".85"/>${words}`;
  }
  layer.innerHTML = body;
  svg.append(layer);
}

function make(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

// --- what the person does ----------------------------------------------------------------------------------------------

function act(action) {
  if (!state.awaits || view) return;
  picked = [];
  state.awaits = false; // one action a step, however often it is clicked
  for (const button of document.querySelectorAll("#buttons button, #actions button")) button.disabled = true;
  say({ do: "act", action, at: state.at, game: state.game });
  complain("");
}

function look(at) {
  say({ do: "look", at: Math.max(0, Math.min(at, state.at)) });
}

/** A spot is clicked, or something is dropped on it. */
function pick(spot) {
  let moves = goingOn().filter(([, , spots]) => spots[picked.length] === spot);
  if (!moves.length && picked.length) {
    const again = picked.includes(spot);
    picked = [];
    moves = again ? [] : goingOn().filter(([, , spots]) => spots[0] === spot);
  }
  if (moves.length) picked = [...picked, spot];
  const whole = moves.filter(([, , spots]) => spots.length === picked.length);
  if (whole.length === 1 && moves.length === 1) act(whole[0][0]);
  else if (whole.length) choose(whole);
  if (state) showMoves();
  showOpinion();
}

/** Asks which of several moves with the same spots is meant. */
function choose(moves) {
  const dialog = byId("choice");
  const buttons = moves.map(([action, name]) => {
    const button = make("button", name);
    button.onclick = () => (dialog.close(), act(action));
    return button;
  });
  dialog.querySelector(".list").replaceChildren(...buttons);
  dialog.onclose = () => ((picked = []), showMoves());
  dialog.showModal();
}

const spotAt = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-spot]")?.dataset.spot;

byId("board").addEventListener("pointerdown", (event) => {
  if (event.button !== 0 || !state) return;
  if (event.target.hasPointerCapture?.(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
  pressed = spotAt(event) ?? null;
  if (pressed !== null) pick(pressed);
  else if (picked.length) ((picked = []), showMoves(), showOpinion());
});
addEventListener("pointermove", (event) => {
  const ghost = byId("ghost");
  ghost.hidden = !(pressed !== null && picked.length && spotAt(event) !== pressed);
  ghost.style.left = `${event.clientX}px`;
  ghost.style.top = `${event.clientY}px`;
});
addEventListener("pointerup", (event) => {
  const spot = spotAt(event);
  if (pressed !== null && picked.length && spot !== undefined && spot !== pressed) pick(spot);
  pressed = null;
  byId("ghost").hidden = true;
});
addEventListener("keydown", (event) => {
  if (!state || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=range]), dialog *")) return;
  if (event.key === "Escape") {
    picked = [];
    showMoves();
    showOpinion();
  } else if (event.key in table.keys) {
    event.preventDefault();
    if (legalMoves().some(([action]) => action === table.keys[event.key])) act(table.keys[event.key]);
  } else if (event.key === "ArrowLeft") look((view ?? state).shown - 1);
  else if (event.key === "ArrowRight") look((view ?? state).shown + 1);
});

byId("back").onclick = () => say({ do: "back" });
byId("fresh").onclick = () => say({ do: "new" });
byId("advice").onclick = () => {
  byId("advice").disabled = true;
  byId("status").firstChild.textContent = "the planner thinks …";
  say({ do: "opinion" });
};
byId("run").onclick = () => say({ do: "clock", running: !state.running, seconds: state.seconds });
byId("pace").oninput = () => say({ do: "clock", running: state.running, seconds: 2 ** Number(byId("pace").value) });
byId("save").onclick = () => say({ do: "save" });
byId("load").onchange = async (event) => {
  const [file] = event.target.files;
  if (file) say({ do: "load", text: await file.text() });
  event.target.value = "";
};
byId("here").onclick = () => say({ do: "back", to: view.shown });
byId("actions").ontoggle = () => byId("actions").open && listActions();
/** Shows the game from the position shown, a step at a time. */
byId("replay").onclick = () => {
  const start = replaying === undefined;
  stopReplay();
  if (!start) return;
  if (!view) look(0);
  replaying = setInterval(() => (view ? look(view.shown + 1) : stopReplay()), 1000 * Math.max(state.seconds, 0.1));
  byId("replay").textContent = "❚❚";
};
function stopReplay() {
  clearInterval(replaying);
  replaying = undefined;
  byId("replay").textContent = "▶";
}
byId("review").onclick = (event) => {
  const shown = (view ?? state).shown;
  const to = { first: 0, before: shown - 1, after: shown + 1, last: state.at }[event.target.dataset.to];
  if (to !== undefined) look(to);
};

connect();
