// Shows the terminal of an agent as it is: frames come as they change, by server-sent events,
// and each line is made of elements with classes; no text is ever made into elements. Who may
// types there, key by key, when they have taken over.
"use strict";

(function () {
  const late = 12000; // without a word the picture is not up to date
  const longest = 1000; // of characters that are sent at once

  let pre = null;
  let stream = null;
  let watcher = null; // of the size of its place
  let lines = [];
  let heard = 0;
  let ends = true; // the end of the picture is in sight
  let silent = false; // nothing was heard for too long
  let broken = false; // the stream was, since somebody took over here

  function span(part) {
    if (part[1] === "") { return document.createTextNode(part[0]); }
    const element = document.createElement("span");
    element.className = part[1];
    element.textContent = part[0];
    return element;
  }

  function row(line) {
    const element = document.createElement("span");
    for (const part of line || []) { element.append(span(part)); }
    element.append("\n");
    return element;
  }

  // draw makes the change of the picture that is shown. Where the end of it was in sight it
  // stays in sight: a terminal may be larger than its place on the page.
  function draw(change) {
    if (change.whole) { lines = []; }
    lines.splice(0, change.up || 0).forEach(function (l) { l.remove(); });
    if (change.whole) { pre.replaceChildren(); }
    while (lines.length > change.rows) { lines.pop().remove(); }
    while (lines.length < change.rows) { lines.push(row(null)); pre.append(lines[lines.length - 1]); }
    for (const set of change.set || []) {
      const fresh = row(set.line);
      lines[set.at].replaceWith(fresh);
      lines[set.at] = fresh;
    }
    settle();
  }

  function settle() { if (ends) { pre.scrollTop = pre.scrollHeight; } }

  // cursor scrolls to where the terminal's own is, within its place: who types has to see it.
  function cursor() {
    const mark = pre.querySelector(".cu");
    if (!mark) { return; }
    const at = mark.getBoundingClientRect();
    const seen = pre.getBoundingClientRect();
    const room = 24; // in pixels, beside it
    if (at.top < seen.top) { pre.scrollTop -= seen.top - at.top + room; }
    if (at.bottom > seen.bottom) { pre.scrollTop += at.bottom - seen.bottom + room; }
    if (at.left < seen.left) { pre.scrollLeft -= seen.left - at.left + room; }
    if (at.right > seen.right) { pre.scrollLeft += at.right - seen.right + room; }
  }

  function at(text) { document.getElementById("terminal-at").textContent = text; }

  // leave ends the following of a terminal that the page does not show any more.
  function leave() {
    if (stream) { stream.close(); }
    if (watcher) { watcher.disconnect(); }
    stream = null;
    watcher = null;
    pre = null;
  }

  // follow has something be done with each event of one kind, as long as the terminal is shown.
  function follow(kind, does) {
    stream.addEventListener(kind, function (event) {
      if (!pre || !pre.isConnected) { leave(); return; }
      if (kind !== "error") { heard = Date.now(); }
      does(event);
    });
  }

  // show begins with the terminal of the page, when there is one.
  function show() {
    if (pre && !pre.isConnected) { leave(); }
    const found = document.getElementById("terminal");
    if (!found || !found.dataset.from || found === pre) { return; } // of another machine it is shown as it was
    leave();
    pre = found;
    lines = [];
    ends = true;
    pre.addEventListener("scroll", function () { ends = pre.scrollHeight - pre.clientHeight - pre.scrollTop < 4; });
    watcher = new ResizeObserver(settle);
    watcher.observe(pre);
    stream = new EventSource(pre.dataset.from);
    follow("frame", function (event) {
      pre.dataset.kept = "";
      draw(JSON.parse(event.data));
      if (keyboard.typing()) { cursor(); }
      at("As it is now.");
    });
    follow("same", function () {
      if (silent) { pre.dataset.kept = ""; at("As it is now."); }
      silent = false;
    });
    follow("gone", function (event) {
      const says = JSON.parse(event.data).says;
      delete pre.dataset.kept;
      at("It is not seen any more: " + says + ". What is shown is what it showed last.");
      keyboard.end("");
    });
    follow("typing", function (event) {
      keyboard.told(JSON.parse(event.data));
    });
    follow("open", function () {});
    follow("error", function () {
      delete pre.dataset.kept;
      broken = true;
      at("It is not followed now: what is shown may be old.");
      if (stream.readyState === EventSource.CLOSED) { leave(); }
    });
    keyboard.offer();
  }

  // keyboard is taken over by a person, typed on, and given back.
  const keyboard = (function () {
    let box = null;
    let hold = "";
    let turn = 0;
    let waiting = [];
    let sending = false;
    let by = "";
    let field = null;
    let reason = ""; // why it ended here; said as long as nothing else is done
    let number = 0; // of what was taken over, among all that were
    // What this window calls itself: each one that shows the page is another who types.
    const view = Array.from(crypto.getRandomValues(new Uint8Array(16)), function (b) { return b.toString(16).padStart(2, "0"); }).join("");

    function post(what, fields) {
      return fetch(document.getElementById("terminal").dataset.from + "/" + what, {
        method: "POST", body: new URLSearchParams(fields), credentials: "same-origin", redirect: "error",
        keepalive: what === "release", // also when the page is left right after
      });
    }

    function button(text, does, quiet) {
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = text;
      if (quiet) { b.className = "quiet"; }
      b.addEventListener("click", does);
      return b;
    }

    function note(text) {
      const p = document.createElement("p");
      p.setAttribute("role", "status");
      p.textContent = text;
      return p;
    }

    function offer(why) {
      box = document.getElementById("keyboard");
      if (!box) { return; }
      box.hidden = false;
      box.replaceChildren(button("Type here yourself", function (event) { take(event, {}); }, true));
      if (why) { box.append(note(why)); }
    }

    async function take(event, more) {
      event.currentTarget.disabled = true; // who clicks twice would take it from themselves
      let answer = null;
      try {
        answer = await post("take", Object.assign({ view: view }, more));
      } catch (e) {
        offer("It cannot be taken over: Custos is not reached.");
        return;
      }
      if (!answer.ok) {
        offer((answer.headers.get("Content-Type") || "").startsWith("text/plain") ? await answer.text() : "It cannot be taken over (" + answer.status + ").");
        if (answer.status === 423) { // another window of this browser has it
          box.append(button("Take it over from there", function (event) { take(event, { over: "1" }); }, true));
        }
        return;
      }
      const held = await answer.json();
      hold = held.hold;
      broken = false;
      reason = "";
      number = held.n;
      turn = 0;
      waiting = [];
      sending = false;
      shown();
    }

    // shown is what is typed into: a field, so that a phone shows its keyboard.
    function shown() {
      const label = document.createElement("label");
      label.textContent = "Each key goes to the agent at once. Ctrl+. gives the keyboard back, and so does a minute without a key.";
      field = document.createElement("textarea");
      field.rows = 1;
      field.id = "keys";
      label.htmlFor = field.id;
      for (const name of ["autocapitalize", "autocomplete", "autocorrect"]) { field.setAttribute(name, "off"); }
      field.spellcheck = false;
      field.addEventListener("keydown", keydown);
      field.addEventListener("input", typed);
      field.addEventListener("compositionend", typed);
      field.addEventListener("paste", pasted);
      const keys = document.createElement("div");
      keys.className = "keys";
      keys.setAttribute("role", "group");
      keys.setAttribute("aria-label", "Keys");
      for (const k of [["Enter", "Enter"], ["Esc", "Escape"], ["Tab", "Tab"], ["Shift+Tab", "BTab"], ["↑", "Up"], ["↓", "Down"], ["←", "Left"], ["→", "Right"], ["Ctrl+C", "C-c"]]) {
        keys.append(button(k[0], function () { send({ key: k[1] }); field.focus(); }, true));
      }
      box.replaceChildren(label, field, keys, button("Give the keyboard back", release));
      field.focus();
    }

    const named = {
      Enter: "Enter", Escape: "Escape", Tab: "Tab", Backspace: "BSpace", ArrowUp: "Up", ArrowDown: "Down", ArrowLeft: "Left", ArrowRight: "Right",
      Home: "Home", End: "End", PageUp: "PPage", PageDown: "NPage", Insert: "IC", Delete: "DC",
      F1: "F1", F2: "F2", F3: "F3", F4: "F4", F5: "F5", F6: "F6", F7: "F7", F8: "F8", F9: "F9", F10: "F10", F11: "F11", F12: "F12",
    };
    const moved = ["Up", "Down", "Left", "Right", "Home", "End", "Enter", "BSpace", "DC"];

    // keyOf is the key of an event by its name; "" for a character.
    function keyOf(event) {
      const name = named[event.key] || "";
      if (event.metaKey) { return null; }
      if (name === "Tab" && event.shiftKey) { return "BTab"; }
      if (name) {
        const mod = event.ctrlKey ? "C-" : event.altKey ? "M-" : event.shiftKey ? "S-" : "";
        return mod && moved.includes(name) ? mod + name : name;
      }
      const letter = event.key.length === 1 ? event.key.toLowerCase() : "";
      if (event.ctrlKey && !event.altKey) {
        if (letter === "v") { return null; } // a paste
        if (letter === " ") { return "C-Space"; }
        return letter >= "a" && letter <= "z" ? "C-" + letter : null;
      }
      if (event.altKey && !event.ctrlKey && letter >= "a" && letter <= "z") { return "M-" + letter; }
      return "";
    }

    function keydown(event) {
      if (event.isComposing) { return; }
      if (event.ctrlKey && event.key === ".") { event.preventDefault(); release(); return; }
      const key = keyOf(event);
      if (!key) { return; }
      event.preventDefault();
      send({ key: key });
    }

    function typed(event) {
      if (event.isComposing) { return; }
      const text = field.value;
      field.value = "";
      for (const part of text.split("\n")) {
        if (part !== "") { send({ text: part.replace(/[\u0000-\u001f\u007f-\u009f]/g, "") }); }
      }
    }

    function pasted(event) {
      event.preventDefault();
      const text = event.clipboardData ? event.clipboardData.getData("text/plain") : "";
      if (text !== "") { send({ paste: text }); }
    }

    function send(stroke) {
      const last = waiting[waiting.length - 1];
      if (stroke.text === "") { return; }
      if (stroke.text && last && last.text && last.text.length + stroke.text.length < 200) {
        last.text += stroke.text;
      } else {
        waiting.push(stroke);
      }
      if (!sending) { flush(); }
    }

    // few are the first of those that wait, as many as may go at once.
    function few() {
      let size = 0;
      let n = 0;
      while (n < waiting.length && n < 60) {
        size += (waiting[n].text || "").length * 3;
        if (n > 0 && (size > longest || waiting[n].paste || waiting[n - 1].paste)) { break; }
        n++;
      }
      return waiting.splice(0, n);
    }

    // flush sends what was typed, one request after the other: what is typed meanwhile goes
    // with the next one. What may have arrived is not sent again.
    async function flush() {
      sending = true;
      while (waiting.length > 0 && hold !== "") {
        turn++;
        const mine = hold;
        let why = "";
        try {
          const answer = await post("keys", { hold: mine, turn: String(turn), keys: JSON.stringify(few()) });
          if (!answer.ok) { why = (answer.headers.get("Content-Type") || "").startsWith("text/plain") ? await answer.text() : "Keys were not taken (" + answer.status + ")."; }
        } catch (e) {
          why = "Custos is not reached: what was typed last may have arrived or not.";
        }
        if (why && mine === hold) { end(why); }
      }
      sending = false;
    }

    function release() {
      const mine = hold;
      end("");
      post("release", { hold: mine }).catch(function () {}); // it ends by itself within a minute
    }

    function end(why) {
      if (hold === "") { return; }
      hold = "";
      waiting = [];
      reason = why;
      offer(why);
      const again = box && box.querySelector("button");
      if (again) { again.focus(); }
    }

    // told is who types there, for everybody who looks.
    function told(typing) {
      const says = document.getElementById("typing");
      const was = by;
      by = typing.by || "";
      says.hidden = by === "";
      says.textContent = by === "" ? "" : by + " types here by hand since " + typing.since + ".";
      if (hold !== "" && typing.n > number && typing.view !== view) { end("Another window of this browser has taken over the keyboard."); }
      if (was !== "" && by === "") { end(broken ? "It has ended: Custos was away, and nobody types there any more." : "It has ended: " + (typing.ended || "it may not go on") + "."); }
    }

    window.addEventListener("pagehide", function () { if (hold !== "") { release(); } });

    return { typing: function () { return hold !== ""; }, offer: function () { if (hold === "") { offer(reason); } }, told: told, end: end };
  })();

  show();
  setInterval(function () {
    show();
    if (pre && "kept" in pre.dataset && Date.now() - heard > late) {
      silent = true;
      delete pre.dataset.kept;
      at("It is not followed now: what is shown may be old.");
    }
  }, 1000);
})();
