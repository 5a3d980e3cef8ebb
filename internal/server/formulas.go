package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"

	"custos/internal/api"
	"custos/internal/fleet"
)

func (s *server) formulas(req *http.Request, _ Caller) (any, error) {
	rows, err := s.Formulas.Formulas(req.Context())
	if err != nil {
		return nil, err
	}
	if rows == nil {
		rows = []api.FormulaRow{}
	}
	return api.Formulas{Formulas: rows, Next: []api.Hint{
		{Command: "custos formula show supervisor", What: "what one does"},
		{Command: "custos formula run supervisor", What: "run it once"},
	}}, nil
}

// formula reads a formula; it runs nothing of it.
func (s *server) formula(req *http.Request, _ Caller) (any, error) {
	var q api.FormulaQuery
	if err := decode(req, &q); err != nil {
		return nil, err
	}
	if q.File != "" && !path.IsAbs(q.File) || (q.Name == "") == (q.File == "") {
		return nil, badInput(fmt.Errorf("cannot read a formula: give its name, or its file with an absolute path"))
	}
	f, err := s.Formulas.Formula(req.Context(), q)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noFormula(q.Name)
	}
	if err != nil {
		return nil, err
	}
	if f.Problems == nil {
		f.Problems = []api.FormulaProblem{}
	}
	if f.Vars == nil {
		f.Vars = []api.FormulaVar{}
	}
	if f.Plan == nil {
		f.Plan = []api.FormulaStep{}
	}
	return f, nil
}

// switchFormula switches a formula off or on.
func (s *server) switchFormula(req *http.Request, c Caller) (any, error) {
	name, do := req.PathValue("name"), req.PathValue("do")
	if do != "disable" && do != "enable" {
		return nil, badInput(fmt.Errorf("cannot %q a formula: want disable or enable", fleet.Line(do, 40)))
	}
	out, err := s.Formulas.Switch(req.Context(), name, do == "enable", c.Name())
	if err != nil {
		return nil, badInput(err)
	}
	return out, nil
}

func noFormula(name string) error {
	return &api.Error{Kind: api.NotFound, Message: fmt.Sprintf("cannot find formula %q", fleet.Line(name, 100)), Hint: "custos formula list"}
}
