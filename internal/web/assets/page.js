// Keeps the page as it is now: when the daemon says that something has changed, the page is
// asked for again, and the sections that differ take the place of those that are shown. What
// is typed, focused, opened and scrolled to stays. Without this script the page is read as it
// came, and works.
"use strict";

(function () {
  if (document.querySelector("main[data-still]")) { return; } // it stays as it was loaded

  // Between two askings, so many times as long as the last one took, and at most so long, in
  // milliseconds: a burst of changes costs a browser no more than a fifth of its time.
  const ease = 4;
  const longestRest = 2000;
  const late = 40000; // without a word the page is not up to date
  let asking = false;
  let again = false;
  let heard = Date.now();

  // typed says whether a person has begun to fill in something of a section.
  function typed(section) {
    if (section.querySelector("[data-kept]")) { return true; } // its own script keeps it
    for (const field of section.querySelectorAll("input, textarea, select")) {
      const untouched = field.tagName === "SELECT"
        ? Array.prototype.every.call(field.options, function (o) { return o.selected === o.defaultSelected; })
        : field.value === field.defaultValue && field.checked === field.defaultChecked;
      if (field === document.activeElement || (field.type !== "hidden" && !untouched)) {
        return true;
      }
    }
    return false;
  }

  // opened are the details of a section that a person has opened, by their place in it.
  function opened(section) {
    return Array.prototype.map.call(section.querySelectorAll("details"), function (d) { return d.open; });
  }

  // path is the way to an element from its section, child by child.
  function path(section, element) {
    const steps = [];
    for (let at = element; at !== section; at = at.parentElement) {
      steps.unshift(Array.prototype.indexOf.call(at.parentElement.children, at));
    }
    return steps;
  }

  function replace(old, fresh) {
    const open = opened(old);
    const within = old.contains(document.activeElement) && document.activeElement !== old;
    const focused = within ? path(old, document.activeElement) : null;
    const scrolled = Array.prototype.map.call(old.querySelectorAll("pre"), function (p) { return [p.scrollLeft, p.scrollTop]; });
    const copy = document.importNode(fresh, true);
    old.replaceWith(copy);
    copy.querySelectorAll("details").forEach(function (d, i) { if (open[i]) { d.open = true; } });
    copy.querySelectorAll("pre").forEach(function (p, i) { if (scrolled[i]) { p.scrollLeft = scrolled[i][0]; p.scrollTop = scrolled[i][1]; } });
    if (focused) {
      let at = copy;
      for (const step of focused) {
        if (!at.children[step]) { break; }
        at = at.children[step];
      }
      at.focus({ preventScroll: true });
    }
  }

  function take(fresh) {
    const shown = document.querySelectorAll("main > section[id], #seen");
    for (const old of shown) {
      const next = fresh.getElementById(old.id);
      if (next && !old.isEqualNode(next) && !typed(old)) { replace(old, next); }
      if (!next && !typed(old)) { old.remove(); }
    }
    let before = null; // of a section that was not there
    for (const next of fresh.querySelectorAll("main > section[id]")) {
      const here = document.getElementById(next.id);
      if (here) { before = here; continue; }
      const copy = document.importNode(next, true);
      if (before) { before.after(copy); } else { document.getElementById("main").append(copy); }
      before = copy;
    }
  }

  function stale(is) { document.getElementById("stale").hidden = !is; }

  // What is pressed is not exchanged before it is let go: the click would be lost.
  const longestPress = 2000; // in milliseconds: who lets go elsewhere is not seen to
  let pressed = 0;
  let held = null; // a page that came meanwhile
  function release() {
    pressed = 0;
    if (held) { take(held); }
    held = null;
  }
  window.addEventListener("pointerdown", function () { pressed = Date.now(); }, true);
  window.addEventListener("pointerup", function () { setTimeout(release); }, true);
  window.addEventListener("pointercancel", function () { setTimeout(release); }, true);
  function came(fresh) {
    if (Date.now() - pressed < longestPress) { held = fresh; } else { held = null; take(fresh); }
  }

  // A document that the browser itself has parsed: no text is made into elements here.
  function ask() {
    if (asking) { again = true; return; }
    asking = true;
    again = false;
    const began = Date.now();
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.timeout = 20000;
    request.onloadend = function () {
      const well = request.status === 200 && request.response;
      if (well) { came(request.response); }
      if (request.status === 401 || request.status === 403) { location.reload(); }
      stale(!well);
      const rest = Math.min(longestRest, ease * (Date.now() - began));
      setTimeout(function () { asking = false; if (again) { ask(); } }, rest);
    };
    request.send();
  }

  // A stream that has ended is begun again here, and not by the browser: that waits for three
  // seconds where it was not told otherwise yet, and for ever where something else was answered
  // in its place, as a proxy does while the daemon is not there.
  const comeAgain = 500; // in milliseconds
  let stream = null;
  let last = "";
  function listen() {
    stream = new EventSource("/changes");
    stream.addEventListener("change", function (event) {
      heard = Date.now();
      if (last !== event.data) { ask(); }
      last = event.data;
    });
    stream.onerror = function () {
      stale(true);
      last = "";
      if (stream.readyState === EventSource.CLOSED) { ask(); } // is this browser still let in?
      stream.close();
      setTimeout(listen, comeAgain);
    };
  }
  // The first word of the stream has the page asked for again: not before it is painted. What
  // is in the background is not painted.
  const begins = 1000; // at the latest, in milliseconds
  const begin = setTimeout(listen, begins);
  requestAnimationFrame(function () { setTimeout(function () { clearTimeout(begin); if (!stream) { listen(); } }); });
  setInterval(function () { if (Date.now() - heard > late && stream && stream.readyState !== EventSource.OPEN) { stale(true); } }, 5000);
})();
