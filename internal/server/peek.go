package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"

	"custos/internal/api"
	"custos/internal/fleet"
)

// linesShown is how much of a screen is shown unless somebody asks for more, up
// to linesAtMost.
const (
	linesShown  = 50
	linesAtMost = 2000
)

func (s *server) screen(req *http.Request, _ Caller) (any, error) {
	name, lines := req.PathValue("name"), linesShown
	if text := req.URL.Query().Get("lines"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > linesAtMost {
			return nil, badInput(fmt.Errorf("cannot show %q lines: want 1 to %d", fleet.Line(text, 20), linesAtMost))
		}
		lines = n
	}
	text, err := s.Screens.Screen(req.Context(), name, lines)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &api.Error{Kind: api.NotFound, Message: err.Error(), Hint: "custos ps"}
	case err != nil:
		return nil, cannotLook(err)
	}
	return api.Screen{Agent: name, At: s.Now().Wall.UTC(), Text: fleet.Redact(fleet.Text(text))}, nil
}
