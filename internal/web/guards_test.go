package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A name that is not this machine's gets nothing, before anything else is looked at: so a
// foreign page that made its own name lead here (DNS rebinding) reads nothing.
func TestOnlyOwnNamesAreAnswered(t *testing.T) {
	w := newWorld(t)
	w.Site.Names, w.Site.Behind = []string{"box.example"}, "https://box.tail.example"
	for name, want := range map[string]int{
		"127.0.0.1:7777":          200,
		"localhost:7777":          200,
		"LOCALHOST:7777":          200,
		"[::1]:7777":              200,
		"box.example:7777":        200,
		"evil.test":               421,
		"evil.test:7777":          421,
		"":                        421,
		"127.0.0.1":               421,
		"127.0.0.1:7778":          421,
		"localhost.:7777":         421,
		"localhost:7777.":         421,
		"box.example":             421,
		"box.example.evil:7777":   421,
		"127.0.0.1:7777@evil":     421,
		"evil.test:80:7777":       421,
		"box.tail.example:7777":   421,
		"0.0.0.0:7777":            421,
		"[::ffff:127.0.0.1]:7777": 421,
	} {
		rec := w.get(t, "/", host(name))
		if rec.Code != want {
			t.Errorf("%q: %d, want %d", name, rec.Code, want)
		}
		if told := len(w.refused) == 1 && strings.Contains(w.refused[0], fmt.Sprintf("called %q", name)); told != (want == 421) {
			t.Errorf("%q: written down: %q", name, w.refused)
		}
		w.refused = nil
	}
	if rec := w.get(t, "/", host("box.tail.example"), func(r *http.Request) {
		r.Header.Del("Cookie")
		r.AddCookie(&http.Cookie{Name: "__Host-custos", Value: "ann"})
	}); rec.Code != 200 {
		t.Errorf("by the proxy: %s", describe(rec))
	}
	// even without a session, and before the token of an address is looked at
	w.token = "t"
	if rec := w.get(t, "/enter?token=t", host("evil.test"), cookie("")); rec.Code != 421 || w.token == "" {
		t.Errorf("a foreign name came in: %s", describe(rec))
	}
	w.Site.Port = 80
	if rec := w.get(t, "/", host("localhost"), func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "custos-80", Value: "ann"}) }); rec.Code != 200 {
		t.Errorf("the usual port is left out: %d", rec.Code)
	}
}

// What another page has a browser ask for is refused: its forms, its fetches, its streams.
// Another port of this machine is another page, though it gets the same cookie.
func TestWhatAnotherPageAsksForIsRefused(t *testing.T) {
	const own, foreign = "http://127.0.0.1:7777", "http://evil.test"
	for _, c := range []struct {
		name         string
		method, path string
		with         []func(*http.Request)
		want         int
	}{
		{"own form", "POST", "/leave", nil, 303},
		{"own form of an old browser", "POST", "/leave", []func(*http.Request){header("Sec-Fetch-Site", ""), header("Origin", own)}, 303},
		{"foreign form", "POST", "/leave", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Origin", foreign)}, 403},
		{"foreign form of an old browser", "POST", "/leave", []func(*http.Request){header("Sec-Fetch-Site", ""), header("Origin", foreign)}, 403},
		{"form of another port", "POST", "/leave", []func(*http.Request){header("Sec-Fetch-Site", "same-site"), header("Origin", "http://127.0.0.1:3000")}, 403},
		{"own site, foreign origin", "POST", "/leave", []func(*http.Request){header("Origin", foreign)}, 403},
		{"no origin and no site", "POST", "/leave", []func(*http.Request){header("Sec-Fetch-Site", ""), header("Origin", "")}, 403},
		{"null origin and no site", "POST", "/leave", []func(*http.Request){header("Sec-Fetch-Site", ""), header("Origin", "null")}, 403},
		{"typed form", "POST", "/leave", []func(*http.Request){header("Sec-Fetch-Site", "none")}, 403},
		{"origin of another port", "POST", "/leave", []func(*http.Request){header("Sec-Fetch-Site", ""), header("Origin", "http://127.0.0.1:7778")}, 403},
		{"origin with TLS", "POST", "/leave", []func(*http.Request){header("Sec-Fetch-Site", ""), header("Origin", "https://127.0.0.1:7777")}, 403},
		{"foreign fetch", "GET", "/", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "cors"), header("Origin", foreign)}, 403},
		{"fetch of another port", "GET", "/", []func(*http.Request){header("Sec-Fetch-Site", "same-site"), header("Sec-Fetch-Mode", "no-cors")}, 403},
		{"foreign stream", "GET", "/changes", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "cors"), header("Sec-Fetch-Dest", "empty")}, 403},
		{"foreign frame", "GET", "/", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "iframe")}, 403},
		{"foreign socket", "GET", "/changes", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "websocket"), header("Upgrade", "websocket"), header("Connection", "Upgrade"), header("Origin", foreign)}, 403},
		{"a link of another page", "GET", "/", []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "document")}, 200},
		{"typed address", "GET", "/", []func(*http.Request){header("Sec-Fetch-Site", "none")}, 200},
		{"no browser", "GET", "/", []func(*http.Request){header("Sec-Fetch-Site", "")}, 200},
	} {
		w := newWorld(t)
		rec := w.ask(t, request(c.method, c.path, nil, c.with...))
		if rec.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, rec.Code, c.want)
		}
		if left := len(w.sessions) < 2; left != (rec.Code == 303) {
			t.Errorf("%s: signed out: %v", c.name, left)
		}
		if told := len(w.refused) == 1 && strings.Contains(w.refused[0], c.method+" "+c.path+" of 127.0.0.1:50000"); told != (c.want == 403) {
			t.Errorf("%s: written down: %q", c.name, w.refused)
		}
	}
}

// No page of another site has this one in a frame, takes anything of it, or learns where it
// came from; no script but ours runs; nothing is kept by what is between.
func TestEachAnswerCarriesTheRules(t *testing.T) {
	w := newWorld(t)
	for _, rec := range []interface{ Header() http.Header }{
		w.get(t, "/"), w.get(t, "/", cookie("")), w.get(t, "/", host("evil")), w.get(t, "/assets/page.js"), w.get(t, "/nothing"), w.post(t, "/leave", nil, header("Origin", "http://evil")),
	} {
		for name, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
			"X-Frame-Options":              "DENY",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-store",
		} {
			if got := rec.Header().Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s is %q", name, got)
			}
		}
	}
}

// Only what the page itself sends is taken.
func TestMethodsAndContentTypes(t *testing.T) {
	w := newWorld(t)
	for _, method := range []string{"HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
		if rec := w.ask(t, request(method, "/leave", nil, header("Origin", "http://127.0.0.1:7777"))); rec.Code != 405 {
			t.Errorf("%s: %d", method, rec.Code)
		}
	}
	for _, kind := range []string{"", "text/plain", "application/json", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded, text/plain", ";"} {
		if rec := w.post(t, "/leave", nil, header("Content-Type", kind)); rec.Code != 415 {
			t.Errorf("%q: %d", kind, rec.Code)
		}
	}
	if len(w.sessions) != 2 {
		t.Error("something was done")
	}
	if rec := w.post(t, "/leave", nil, header("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")); rec.Code != 303 {
		t.Errorf("a form: %s", describe(rec))
	}
}

// Without a session there is nothing to see but how to get one, and with a link only what
// it shows.
func TestWithoutASessionNothingIsShown(t *testing.T) {
	for _, path := range []string{"/", "/changes"} {
		for _, value := range []string{"", "nobody", "link"} {
			w := newWorld(t)
			rec := w.get(t, path, cookie(value))
			want := map[string]int{"": 401, "nobody": 401, "link": 403}[value]
			if path == "/changes" && value == "link" {
				continue
			}
			if rec.Code != want || len(w.asked) > 0 || strings.Contains(rec.Body.String(), "builder") && value != "link" {
				t.Errorf("%s with %q: %s, asked %q", path, value, describe(rec), w.asked)
			}
		}
	}
	w := newWorld(t)
	for _, value := range []string{"", "nobody", "link"} {
		if rec := w.post(t, "/leave", nil, cookie(value)); rec.Code != 401 && rec.Code != 403 || len(w.sessions) != 2 {
			t.Errorf("with %q: %s", value, describe(rec))
		}
	}
	if len(w.refused) != 3 {
		t.Errorf("written down: %q", w.refused)
	}
}

// The address is good once, and its token is nowhere afterwards: not in where the browser
// goes on to, and not in the cookie.
func TestAnAddressIsGoodOnce(t *testing.T) {
	for _, secure := range []bool{false, true} {
		w := newWorld(t)
		w.Site.TLS = secure
		w.token = "once"
		rec := w.get(t, "/enter?token=once", cookie(""))
		got := rec.Result().Cookies()
		if rec.Code != 303 || rec.Header().Get("Location") != "/" || len(got) != 1 || got[0].Value == "once" {
			t.Fatalf("%s with %v", describe(rec), got)
		}
		c := got[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != secure || c.Path != "/" || c.Domain != "" || strings.HasPrefix(c.Name, "__Host-") != secure {
			t.Errorf("the cookie: %+v", c)
		}
		if again := w.get(t, "/enter?token=once", cookie("")); again.Code != 401 || len(again.Result().Cookies()) != 0 {
			t.Errorf("again: %s", describe(again))
		}
		if strings.Contains(rec.Body.String(), "once") {
			t.Errorf("the token is in the answer: %s", rec.Body)
		}
	}
}

// A person who opens a link stays signed in: the link would take the place of the session.
func TestALinkDoesNotSignAPersonOut(t *testing.T) {
	for _, c := range []struct {
		has  string
		sets bool
	}{{"ann", false}, {"", true}, {"nobody", true}, {"link", true}} {
		w := newWorld(t)
		rec := w.get(t, "/enter?token=link", cookie(c.has))
		if got := len(rec.Result().Cookies()) == 1; rec.Code != 303 || rec.Header().Get("Location") != "/agents/builder" || got != c.sets {
			t.Errorf("with %q: %s, a cookie: %v", c.has, describe(rec), got)
		}
	}
}

// However many tokens are tried, and by whom: a good address opens at once.
func TestWhoTriesTokensKeepsNobodyOut(t *testing.T) {
	w := newWorld(t)
	h, err := New(w.Options)
	if err != nil {
		t.Fatal(err)
	}
	enter := func(token string) int {
		rec := newRecorder()
		h.ServeHTTP(rec, request("GET", "/enter?token="+token, nil, cookie("")))
		return rec.Code
	}
	for range 50 {
		if got := enter("wrong"); got != 401 {
			t.Fatalf("a wrong token: %d", got)
		}
	}
	w.token = "right"
	for _, token := range []string{"right", "link", "link"} {
		if got := enter(token); got != 303 {
			t.Errorf("%s, after many wrong ones: %d", token, got)
		}
	}
}

// An agent, and who cannot be shown to be none, does nothing by the page, though it has a
// person's session; and that is written down.
func TestAnAgentDoesNothingByThePage(t *testing.T) {
	w := newWorld(t)
	w.barred = context.DeadlineExceeded
	if rec := w.post(t, "/leave", nil); rec.Code != 403 || len(w.sessions) != 2 || len(w.refused) != 1 {
		t.Errorf("%s, written down %q", describe(rec), w.refused)
	}
	if rec := w.post(t, "/leave", nil, func(r *http.Request) { r.RemoteAddr = "@" }); rec.Code != 403 || len(w.sessions) != 2 {
		t.Errorf("who is nowhere: %s", describe(rec))
	}
	if rec := w.get(t, "/"); rec.Code != 200 {
		t.Errorf("it may look: %s", describe(rec))
	}
}

// A flood of refusals does not fill the log.
func TestAFloodOfRefusalsIsWrittenDownSomeTimes(t *testing.T) {
	w := newWorld(t)
	h, err := New(w.Options)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		h.ServeHTTP(newRecorder(), request("GET", "/changes", nil, header("Sec-Fetch-Site", "cross-site")))
	}
	looks := len(w.refused)
	for range 1000 {
		h.ServeHTTP(newRecorder(), request("POST", "/leave", nil, cookie("")))
	}
	if deeds := len(w.refused) - looks; looks != 10 || deeds != 30 {
		t.Errorf("looks %d times, deeds %d times", looks, deeds)
	}
}

// A stream ends with its session: at the next thing that it would say.
func TestAStreamEndsWithItsSession(t *testing.T) {
	w := newWorld(t)
	said := 0
	w.API = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/changes" || r.Method != http.MethodGet {
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		for range 3 {
			if _, err := rw.Write([]byte("data: 1\n\n")); err != nil {
				return
			}
			if err := http.NewResponseController(rw).Flush(); err != nil {
				t.Errorf("it cannot be flushed: %v", err)
			}
			said++
			delete(w.sessions, "ann")
		}
	})
	rec := w.get(t, "/changes")
	if said != 1 || rec.Body.String() != "data: 1\n\n" {
		t.Errorf("said %d times: %s", said, describe(rec))
	}
}
