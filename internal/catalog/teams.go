package catalog

import (
	"errors"
	"fmt"
	"slices"

	"custos/internal/config"
	"custos/internal/fleet"
	"custos/internal/nearest"
)

// teamSection is the section [team.NAME].
type teamSection struct {
	What  string   `toml:"what"`  // one line for people
	Roles []string `toml:"roles"` // in their order; the last does the work
}

// mostStages is how many roles a team may have.
const mostStages = 8

// Teams reads the sections [team.NAME], in the order of their names: of roles that custos.toml has.
func Teams(cfg config.Config, roles []fleet.Role) (out []fleet.Team, err error) {
	sections := map[string]teamSection{}
	if err := cfg.Section("team", &sections); err != nil {
		return nil, err
	}
	var wrong []error
	for _, name := range sortedNames(sections) {
		t := fleet.Team{Name: name, What: sections[name].What, Roles: sections[name].Roles}
		if err := checkTeam(t, roleNames(roles)); err != nil {
			wrong = append(wrong, cfg.Misread("team."+name, err))
		}
		out = append(out, t)
	}
	return out, errors.Join(wrong...)
}

func checkTeam(t fleet.Team, roles []string) error {
	switch {
	case !poolName.MatchString(t.Name):
		return errors.New("its name may have a-z, 0-9, _ and -, 40 at most")
	case len(t.Roles) == 0 || len(t.Roles) > mostStages:
		return fmt.Errorf(`roles: want 1 to %d, like ["scout", "builder"]`, mostStages)
	}
	for n, name := range t.Roles {
		switch {
		case !slices.Contains(roles, name):
			return fmt.Errorf("roles: there is no [role.%s]%s", fleet.Line(name, 40), nearest.Hint(name, roles))
		case slices.Contains(t.Roles[:n], name):
			return fmt.Errorf("roles: %s is there twice", name)
		}
	}
	return nil
}
