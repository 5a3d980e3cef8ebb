package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A request that is not UTF-8 is refused as a whole: what it says would be read as something else.
func TestARequestThatIsNotUTF8IsRefused(t *testing.T) {
	w := newWorld()
	said := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "/v1/orders", strings.NewReader(`{"do":"nudge","agent":"builder","text":"`+"caf\xe9"+`"}`))
	New(w.options()).ServeHTTP(said, req)
	if body := said.Body.String(); said.Code != http.StatusBadRequest || !strings.Contains(body, "it is not UTF-8 (0xE9, byte 44)") {
		t.Errorf("%d: %s", said.Code, body)
	}
	if len(w.taken) > 0 {
		t.Errorf("it was taken: %+v", w.taken)
	}
}
