package daemon_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromium is a real one, with a profile of its own, that reaches this machine alone.
type chromium struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string // of the console, of scripts, and of the Content-Security-Policy
}

// newChromium starts one; hosts are rules of how names are found, besides loopback.
func newChromium(t *testing.T, hosts string) *chromium {
	t.Helper()
	if os.Getenv("CUSTOS_BROWSER") == "" {
		t.Skip("no real browser was started: make browser does")
	}
	path := program(t, "chromium", "chromium-browser", "google-chrome")
	if path == "" {
		t.Skip("Chromium is not installed: apt-get install chromium")
	}
	profile := t.TempDir()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Env("HOME="+profile), chromedp.Flag("headless", "new"),
		chromedp.Flag("host-resolver-rules", strings.TrimPrefix(hosts+", MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", ", ")))
	c := &chromium{t: t}
	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, end := chromedp.NewContext(allocator, chromedp.WithListener(c.listen))
	t.Cleanup(end)
	c.ctx = ctx
	c.does(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(ctx, audits.Enable, struct{}{})
		return err
	}))
	return c
}

func (c *chromium) listen(event any) {
	var says string
	switch e := event.(type) {
	case *log.EventEntryAdded:
		says = fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *runtime.EventExceptionThrown:
		says = "exception: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		says = fmt.Sprintf("console.%s", e.Type)
	case *audits.EventIssueAdded:
		if e.Issue.Code != audits.InspectorIssueCodeContentSecurityPolicyIssue {
			return
		}
		says = fmt.Sprintf("CSP: %+v", e.Issue.Details.ContentSecurityPolicyIssueDetails)
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complaints = append(c.complaints, says)
}

// complained is what was complained of, so far.
func (c *chromium) complained() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.complaints, "\n")
}

func (c *chromium) does(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	if err := chromedp.Do(c.ctx, steps...); err != nil {
		c.t.Fatalf("%v\n%s", err, c.text())
	}
}

// text is what a person reads of the page.
func (c *chromium) text() string {
	text, err := chromedp.Run(c.ctx, chromedp.Evaluate[string](`location.pathname + "\n" + document.documentElement.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// reads waits until a person reads something.
func (c *chromium) reads(want string) {
	c.t.Helper()
	await(c.t, c.text, func() bool { return strings.Contains(strings.ToLower(c.text()), strings.ToLower(want)) })
}

// fits demands that nothing of the page is wider than what shows it, and keeps a picture
// where CUSTOS_SHOTS says so.
func (c *chromium) fits(name string, width, height int64) {
	c.t.Helper()
	for _, w := range []int64{320, width} {
		c.does(chromedp.EmulateViewport(w, height))
		over, err := chromedp.Run(c.ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
		if err != nil || over > 0 {
			c.t.Errorf("%s is %d wider than a screen of %d: %v", name, over, w, err)
		}
	}
	dir := os.Getenv("CUSTOS_SHOTS")
	if dir == "" {
		return
	}
	shot, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.png", name, width)), shot, 0o600)
	}
	if err != nil {
		c.t.Error(err)
	}
}

// By a real browser, at the sizes of a phone and of a desk, an agent that asks for
// permission is answered and goes on, and is told something, and stopped. The browser has
// nothing to complain of.
func TestAPersonAnswersAnAgentByARealBrowser(t *testing.T) {
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"phone", 390, 844}, {"desk", 1440, 900}} {
		t.Run(size.name, func(t *testing.T) {
			c := newChromium(t, "")
			w := newTown(t, quickTown)
			w.spawn("asker", "dialog touch proof", false)
			w.awaitState("asker", "waiting")
			c.does(chromedp.EmulateViewport(size.width, size.height), chromedp.Navigate(w.webAddress()))
			c.reads("thing needs you")
			c.fits("home", size.width, size.height)
			c.does(chromedp.Click(chromedp.CSS(`#needs a.button[href="/agents/asker"]`)))
			c.reads("It asks")
			c.fits("agent", size.width, size.height)
			c.does(chromedp.Click(chromedp.CSS(`#dialog button[value="yes"]`)))
			c.reads("answer: done")
			w.awaitState("asker", "idle", "working")
			c.does(chromedp.SetValue(chromedp.CSS("#text"), "fake reply noon"), chromedp.Click(chromedp.CSS(`form[action$="/nudge"] button`)))
			c.reads("nudge: done")
			c.does(chromedp.Click(chromedp.CSS(`#act a.danger`)))
			c.reads("Leave it running")
			c.fits("stop", size.width, size.height)
			c.does(chromedp.Click(chromedp.CSS(`#confirm button.danger`)))
			c.reads("stop: done")
			w.awaitState("asker", "stopped", "finished")
			if said := c.complained(); said != "" {
				t.Errorf("the browser complains of\n%s", said)
			}
		})
	}
}

// A foreign name that was made to lead here (DNS rebinding) shows a browser nothing.
func TestARealBrowserIsShownNothingByAForeignName(t *testing.T) {
	c := newChromium(t, "MAP evil.test 127.0.0.1")
	w := newTown(t, quickTown)
	w.spawn("builder", "reply hello", false)
	address := w.webAddress()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c.does(chromedp.Navigate(address))
	c.reads("builder")
	resp, err := chromedp.Run(c.ctx, chromedp.NavigateResponse("http://evil.test:"+u.Port()+"/"))
	if err != nil || resp.Status != 421 {
		t.Errorf("evil.test: %+v, %v", resp, err)
	}
	if text := c.text(); !strings.Contains(text, "not called by that name") || strings.Contains(text, "builder") {
		t.Errorf("evil.test shows %s", text)
	}
}
