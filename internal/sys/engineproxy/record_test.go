package engineproxy

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// Who asks without end does not fill the log, and what was left out is counted.
func TestRefusalsAreBounded(t *testing.T) {
	var text strings.Builder
	c := newRecord(slog.New(slog.NewTextHandler(&text, nil)))
	at := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	c.now = func() time.Time { return at }
	r := httptest.NewRequest("GET", "/secrets", nil)
	r.RequestURI, r.Method = "/\x1b[31m\n"+strings.Repeat("x", 5000), "G\x1bT"
	for range 100 {
		c.refused(r, no("it is none of what may be asked"))
	}
	if n := strings.Count(text.String(), "msg=Refused "); n != aMinute {
		t.Errorf("%d refusals of one minute were written down, want %d", n, aMinute)
	}
	if strings.ContainsAny(text.String(), "\x1b") || len(text.String()) > aMinute*600 {
		t.Error("what was asked stands in the log as it came")
	}
	at = at.Add(time.Minute)
	c.refused(r, no("it is none of what may be asked"))
	if !strings.Contains(text.String(), "count=40") || strings.Count(text.String(), "msg=Refused ") != aMinute+1 {
		t.Errorf("the next minute does not tell of the 40 before:\n%.300s", text.String()[max(0, text.Len()-300):])
	}
}
