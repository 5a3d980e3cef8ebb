package engineproxy

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
)

// stream carries lines of JSON, each as far as it is shown, until one side ends it, or a
// line comes that is too long or no JSON.
func (p *Proxy) stream(w http.ResponseWriter, resp *http.Response, show fields) {
	copyHeader(w, resp)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	if out.Flush() != nil {
		return
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		text, err := event(lines.Bytes(), show)
		if err != nil {
			p.record.broken("an event of the engine cannot be read", err)
			return
		}
		if _, err := w.Write(append(text, '\n')); err != nil || out.Flush() != nil {
			return
		}
	}
	if err := lines.Err(); err != nil && resp.Request.Context().Err() == nil {
		p.record.broken("the events of the engine end", err)
	}
}

// event is what is shown of one.
func event(line []byte, show fields) ([]byte, error) {
	v, err := decode(line)
	if err != nil {
		return nil, err
	}
	part, ok := show.shown(v)
	m, isObject := part.(map[string]any)
	if !ok || !isObject {
		m = map[string]any{}
	}
	for _, name := range []string{"Action", "status"} {
		if text, ok := m[name].(string); ok {
			m[name] = plainAction(text)
		}
	}
	return json.Marshal(m)
}

// plainAction is an action without what follows its colon: of an exec that is a command
// line. How a health check ended is kept.
func plainAction(action string) string {
	before, after, cut := strings.Cut(action, ":")
	if after = strings.TrimSpace(after); cut && before == "health_status" && (after == "healthy" || after == "unhealthy") {
		return before + ": " + after
	}
	return before
}
