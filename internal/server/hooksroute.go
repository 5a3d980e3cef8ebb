package server

import (
	"fmt"
	"net/http"

	"custos/internal/api"
	"custos/internal/fleet"
)

// editHooks answers what a change of hooks makes of a settings file. The file
// itself is the caller's to read, to show and to write.
func (s *server) editHooks(req *http.Request, _ Caller) (any, error) {
	var e api.HookEdit
	if err := decode(req, &e); err != nil {
		return nil, err
	}
	if e.Do != "install" && e.Do != "uninstall" && e.Do != "status" {
		return nil, api.AsBadInput(fmt.Errorf("cannot %q hooks: want install, uninstall or status", fleet.Line(e.Do, 40)))
	}
	f, err := s.HookFiles.EditHooks(req.PathValue("kind"), e.Do, []byte(e.Settings))
	if err != nil {
		return nil, api.AsBadInput(err)
	}
	f.Kind = req.PathValue("kind")
	for _, list := range []*[]string{&f.Events, &f.Missing, &f.Limits} {
		if *list == nil {
			*list = []string{}
		}
	}
	if f.Files == nil {
		f.Files = []api.HookExtra{}
	}
	return f, nil
}
