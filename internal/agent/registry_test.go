package agent

import (
	"strings"
	"testing"
	"time"
)

func TestParseRegistry(t *testing.T) {
	for _, start := range []string{"4711", `"4711"`} {
		r, err := ParseRegistry([]byte(`{"pid":12,"sessionId":"s-1","cwd":"/a","procStart":` + start + `,"version":"2.1.197","status":"waiting","waitingFor":"permission\u001b[31m token=hunter22","statusUpdatedAt":1795167028000,"new":{"x":1}}`))
		if err != nil {
			t.Fatal(err)
		}
		if r.PID != 12 || r.ProcStart != 4711 || r.Status != "waiting" || r.SessionID != "s-1" || !r.Updated.Equal(time.UnixMilli(1795167028000)) {
			t.Errorf("%+v", r)
		}
		if strings.ContainsAny(r.WaitingFor, "\x1b") || strings.Contains(r.WaitingFor, "hunter22") {
			t.Errorf("waiting for %q is not safe to show", r.WaitingFor)
		}
	}
	for _, bad := range []string{``, `{`, `[]`, `{"pid":12,"status":"busy"}`, `{"pid":12,"procStart":"x","status":"busy"}`,
		`{"pid":0,"procStart":1,"status":"busy"}`, `{"pid":12,"procStart":1}`, `{"pid":12,"procStart":{},"status":"busy"}`,
		strings.Repeat(" ", RegistryLimit+1)} {
		if r, err := ParseRegistry([]byte(bad)); err == nil {
			t.Errorf("%.40q was read as %+v", bad, r)
		}
	}
}

func FuzzParseRegistry(f *testing.F) {
	f.Add([]byte(`{"pid":12,"procStart":"4711","status":"busy","statusUpdatedAt":"2026-11-20T08:00:00Z"}`))
	f.Add([]byte(`{"pid":1e9,"procStart":1.5,"status":"\u0000"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRegistry(b)
		if err == nil && (r.PID <= 0 || r.ProcStart == 0 || r.Status == "" && !strings.Contains(string(b), "status")) {
			t.Errorf("%q gave %+v", b, r)
		}
	})
}
