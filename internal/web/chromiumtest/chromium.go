// Package chromiumtest drives a real Chromium for tests: what a person sees at the sizes of
// a phone and of a desk, what the browser itself refuses, and what it complains of.
package chromiumtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Browser is a Chromium with a profile of its own, that reaches this machine alone.
type Browser struct{ ctx context.Context }

// Options are what a browser is started with, besides.
type Options struct {
	// Hosts are rules of how names are found, like "MAP evil.test 127.0.0.1"; no other name
	// is found at all.
	Hosts []string
	// Keys are certificates that are taken though nobody vouches for them: the SHA-256 of
	// the public key of each, in base64.
	Keys []string
}

// Start starts one that ends with the test; without Chromium the test is skipped.
func Start(t testing.TB, o Options) *Browser {
	t.Helper()
	path, profile := installed(), t.TempDir()
	if path == "" {
		t.Skip("Chromium is not installed: apt-get install chromium")
	}
	hosts := append(slices.Clone(o.Hosts), "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Env("HOME="+profile), chromedp.Flag("headless", "new"), chromedp.Flag("host-resolver-rules", strings.Join(hosts, ", ")))
	if len(o.Keys) > 0 {
		options = append(options, chromedp.Flag("ignore-certificate-errors-spki-list", strings.Join(o.Keys, ",")))
	}
	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("cannot start %s: %v", path, err)
	}
	return &Browser{ctx}
}

func installed() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Tab is one of the browser's, with the cookies of its person.
type Tab struct {
	T   testing.TB
	ctx context.Context

	mu         sync.Mutex
	complaints []string
	asked      []string
}

// Tab opens one for a person who has no cookie yet.
func (b *Browser) Tab(t testing.TB) *Tab {
	t.Helper()
	return open(t, b.ctx, chromedp.WithNewBrowserContext())
}

// Beside opens another one of the same person.
func (c *Tab) Beside() *Tab {
	c.T.Helper()
	return open(c.T, c.ctx)
}

func open(t testing.TB, parent context.Context, o ...chromedp.ContextOption) *Tab {
	t.Helper()
	c := &Tab{T: t}
	ctx, end := chromedp.NewContext(parent, append(o, chromedp.WithListener(c.listen))...)
	t.Cleanup(end)
	c.ctx = ctx
	Call(c, audits.Enable, cdp.Empty{})
	Call(c, network.Enable, network.EnableParams{})
	return c
}

// Call has the tab carry out a command of the browser's protocol.
func Call[P, R any](c *Tab, command cdp.Command[P, R], params P) R {
	c.T.Helper()
	v, err := chromedp.Call(c.ctx, command, params)
	if err != nil {
		c.T.Fatalf("%v\n%s", err, c.Text())
	}
	return v
}

func (c *Tab) listen(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	complain := func(format string, args ...any) { c.complaints = append(c.complaints, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *log.EventEntryAdded:
		complain("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *runtime.EventExceptionThrown:
		complain("exception: %s", thrown(e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		complain("console.%s", e.Type)
	case *page.EventJavascriptDialogOpening:
		complain("a script of %s says %q", e.URL, e.Message)
		go func() { _, _ = chromedp.Call(c.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{}) }()
	case *audits.EventIssueAdded:
		if e.Issue.Code == audits.InspectorIssueCodeContentSecurityPolicyIssue {
			complain("CSP: %+v", e.Issue.Details.ContentSecurityPolicyIssueDetails)
		}
	case *network.EventRequestWillBeSent:
		c.asked = append(c.asked, e.Request.URL)
	}
}

// thrown is what was thrown, and where.
func thrown(e *runtime.ExceptionDetails) string {
	what := e.Text
	if e.Exception != nil {
		what += " " + e.Exception.Description
	}
	return fmt.Sprintf("%s (%s:%d:%d)", what, e.URL, e.LineNumber+1, e.ColumnNumber+1)
}

// Complaints are what the browser complains of since they were asked for last: on its
// console, of scripts, and of the Content-Security-Policy.
func (c *Tab) Complaints() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := strings.Join(c.complaints, "\n")
	c.complaints = nil
	return all
}

// Elsewhere are the addresses that the tab has asked for and that are not of an origin.
func (c *Tab) Elsewhere(origin string) (found []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, address := range c.asked {
		if u, err := url.Parse(address); err != nil || u.Scheme+"://"+u.Host != origin && u.Scheme != "data" && u.Scheme != "about" {
			found = append(found, address)
		}
	}
	return found
}

// Does takes steps, one after the other.
func (c *Tab) Does(steps ...chromedp.Action[chromedp.Void]) {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, longest)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		c.T.Fatalf("%v\n%s", err, c.Text())
	}
}

// longest is how long something may take to come about, on a busy machine.
const longest = 30 * time.Second

// Goes opens an address, and returns the status of the answer.
func (c *Tab) Goes(address string) int64 {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, longest)
	defer cancel()
	resp, err := chromedp.Run(ctx, chromedp.NavigateResponse(address))
	if err != nil {
		c.T.Fatalf("%s: %v", address, err)
	}
	return resp.Status
}

// watchClick has the page remember that the next click has missed a selector, until one has not.
// Without scripts nothing is heard of a click, and nothing is remembered.
const watchClick = `(() => {
	document.addEventListener("click", e => { window.clickMissed = e.target.closest(%q) === null; }, {capture: true, once: true});
	document.addEventListener("heard", () => { window.clickMissed = true; }, {once: true});
	return document.dispatchEvent(new Event("heard"));
})()`

// Clicks clicks on what a CSS selector finds, once it is there. The mouse goes to where that
// stood when it was looked for: where the page has moved since, it is looked for once more.
func (c *Tab) Clicks(selector string) {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, longest)
	defer cancel()
	for hit := false; !hit; {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[bool](fmt.Sprintf(watchClick, selector)))
		if err == nil {
			err = chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector)))
		}
		if err != nil && !exchanged(err) {
			c.T.Fatalf("%s: %v\n%s", selector, err, c.Text())
		}
		if err == nil {
			missed, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`window.clickMissed === true`))
			hit = err != nil || !missed // a page that was left for another one has forgotten it
		}
	}
}

// exchanged says that what was found was another thing before something was done with it.
func exchanged(err error) bool {
	return strings.Contains(err.Error(), "Could not find node") || strings.Contains(err.Error(), "No node with given id")
}

// fill goes to a field and writes into it, in one step of the page: what was found is not
// exchanged in between, and what has the focus is not exchanged after it.
const fill = `(() => {
	const field = document.querySelector(%s);
	if (!field) { return false; }
	field.focus();
	field.value = %s;
	for (const what of ["input", "change"]) { field.dispatchEvent(new Event(what, {bubbles: true})); }
	return true;
})()`

// Types goes to a field, once it is there, and fills it in.
func (c *Tab) Types(selector, text string) {
	c.T.Helper()
	script := fmt.Sprintf(fill, quoted(c.T, selector), quoted(c.T, text))
	for begun := time.Now(); !Evaluate[bool](c, script); <-time.After(10 * time.Millisecond) {
		if time.Since(begun) > longest {
			c.T.Fatalf("%s is not there:\n%s", selector, c.Text())
		}
	}
}

// quoted is a text as JavaScript writes it.
func quoted(t testing.TB, text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// Evaluate is what a script of a test finds in the page; a promise is waited for.
func Evaluate[V any](c *Tab, script string) V {
	c.T.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, longest)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[V](script, chromedp.EvalAwaitPromise))
	if err != nil {
		c.T.Fatalf("%.200s: %v", script, err)
	}
	return v
}

// Text is the path of the page, and what a person reads of it.
func (c *Tab) Text() string {
	text, err := chromedp.Run(c.ctx, chromedp.Evaluate[string](`location.pathname + "\n" + document.documentElement.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// Shows says whether what a CSS selector finds is shown, with a text in it.
func (c *Tab) Shows(selector, text string) bool {
	is, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`Array.from(document.querySelectorAll(%q)).some(e => e.checkVisibility() && e.innerText.includes(%q))`, selector, text)))
	return err == nil && is
}

// Awaits waits until Shows, and returns how long that took.
func (c *Tab) Awaits(selector, text string) time.Duration {
	c.T.Helper()
	begun := time.Now()
	for !c.Shows(selector, text) {
		if time.Since(begun) > longest {
			c.T.Fatalf("%s did not show %q within %v:\n%s", selector, text, longest, c.Text())
		}
		<-time.After(10 * time.Millisecond)
	}
	return time.Since(begun)
}

// Resize makes the screen another one.
func (c *Tab) Resize(width, height int64) {
	c.T.Helper()
	c.Does(chromedp.EmulateViewport(width, height))
}

// Dark has the person prefer dark colours, or light ones.
func (c *Tab) Dark(is bool) {
	c.T.Helper()
	scheme := "light"
	if is {
		scheme = "dark"
	}
	Call(c, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// WithoutScripts has pages run no script from the next one on.
func (c *Tab) WithoutScripts() {
	c.T.Helper()
	Call(c, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// Overflow names what makes the page wider than a screen of a width; "" when nothing does.
func (c *Tab) Overflow(width int64) string {
	c.T.Helper()
	c.Resize(width, 844)
	return Evaluate[string](c, `(() => {
  const root = document.documentElement, most = root.clientWidth;
  if (root.scrollWidth <= most) { return ""; }
  const wide = Array.from(document.querySelectorAll("body *")).filter(e => e.getBoundingClientRect().right > most + 1 && getComputedStyle(e).position !== "fixed");
  return root.scrollWidth + " of " + most + " pixels, by " + wide.slice(-6).map(e => e.outerHTML.slice(0, 120) + " to " + Math.round(e.getBoundingClientRect().right) + " " + getComputedStyle(e).overflowX).join("\n") + " with " + document.styleSheets.length + " sheets, " + document.readyState;
})()`)
}

// Picture keeps a picture of the whole page in the folder that CUSTOS_SHOTS names.
func (c *Tab) Picture(name string) {
	c.T.Helper()
	c.keeps(name, chromedp.FullScreenshot(100))
}

// Screen keeps a picture of what the screen shows, without what takes scrolling, likewise.
func (c *Tab) Screen(name string) {
	c.T.Helper()
	c.keeps(name, chromedp.CaptureScreenshot())
}

func (c *Tab) keeps(name string, shot chromedp.Action[[]byte]) {
	c.T.Helper()
	dir := os.Getenv("CUSTOS_SHOTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(c.ctx, shot)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644)
	}
	if err != nil {
		c.T.Error(err)
	}
}
