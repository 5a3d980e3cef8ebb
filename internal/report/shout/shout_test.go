package shout

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"custos/internal/fleet"
)

func TestNotify(t *testing.T) {
	var got string
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		w.WriteHeader(status)
	}))
	defer s.Close()
	n := Notifier{"x", func(context.Context) (string, error) {
		return "generic://" + strings.TrimPrefix(s.URL, "http://") + "/hook?disabletls=yes&template=json&$key=hunter2", nil
	}}
	m := fleet.Message{Subject: "it burns", Body: "since 09:00"}
	if err := n.Notify(t.Context(), m); err != nil || !strings.Contains(got, "it burns") {
		t.Errorf("%q, %v", got, err)
	}
	status = http.StatusForbidden
	if err := n.Notify(t.Context(), m); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), s.URL) {
		t.Error(err)
	}
	n.URL = func(context.Context) (string, error) { return "nonsense://hunter2", nil }
	if err := n.Notify(t.Context(), m); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}
