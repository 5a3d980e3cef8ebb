package catalog

import (
	"reflect"

	"custos/internal/agent"
	"custos/internal/config"
)

// kindsOf reads the kinds of agents: built in, then the files beside custos.toml, then its
// tables. What is wrong with a file sets that file aside, with the reason; what is wrong with
// custos.toml is an error.
func kindsOf(cfg config.Config) (kinds *agent.Kinds, aside []error, err error) {
	if err := cfg.Check("kind", reflect.TypeFor[map[string]agent.Kind]()); err != nil {
		return nil, nil, err
	}
	var files []agent.Source
	for _, f := range cfg.Kinds {
		if wrong := f.Check(reflect.TypeFor[agent.Kind]()); wrong != nil {
			aside = append(aside, wrong)
			continue
		}
		files = append(files, agent.Source{Name: f.Path, Text: f.Text})
	}
	kinds, wrong, err := agent.ParseWith(files, agent.Source{Name: cfg.File, Text: cfg.Text})
	if err != nil {
		return nil, nil, &config.Mistake{Err: err}
	}
	return kinds, append(aside, wrong...), nil
}
