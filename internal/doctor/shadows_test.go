package doctor

import (
	"strings"
	"testing"

	"custos/internal/api"
	"custos/internal/fleet"
)

// What a person has granted may have been forgotten. What is not granted is told as not
// readable.
func TestDoctorTellsOfShadows(t *testing.T) {
	formulas := []api.FormulaRow{{Name: "patrol", Source: "formulas/patrol.toml"}, {Name: "own", Source: "/h/own.toml"},
		{Name: "other", Project: "app", Source: "/app/other.toml"}, {Name: "own", Project: "app", Source: "/app/own.toml", Broken: "not run: /h/own.toml is"}}
	e := &Examination{Formulas: fleet.Known(formulas)}
	if v := judgeShadows(e); v.state != api.CheckOK || v.why != "no formula of a project is run instead of another of its name" {
		t.Errorf("%+v", v)
	}
	if v := judgeFormulas(e); v.state != api.CheckBad || !strings.Contains(v.why, "not run") {
		t.Errorf("not granted: %+v", v)
	}
	e.Formulas = fleet.Known(append(formulas, api.FormulaRow{Name: "patrol", Project: "app", Source: "/app/patrol.toml"}))
	if v := judgeShadows(e); v.state != api.CheckWarn || v.why != "/app/patrol.toml is run instead of formulas/patrol.toml in app, as [formulas] shadows says" {
		t.Errorf("%+v", v)
	}
	e.Formulas.Blind("the ledger is locked")
	if v := judgeShadows(e); v.state == api.CheckOK {
		t.Errorf("%+v", v)
	}
}
