package installation

import (
	"context"

	"custos/internal/doctor"
	"custos/internal/fleet"
	"custos/internal/service"
)

// services looks at the units that start a daemon of this user.
func services(ctx context.Context, getenv func(string) string) (out doctor.Services) {
	all, err := service.Look(ctx, service.Machine{Getenv: getenv})
	if err != nil {
		out.Err = fleet.Line(err.Error(), 300)
	}
	for _, st := range all {
		s := doctor.Service{Unit: fleet.Path(st.Unit), Enabled: st.Enabled, Active: st.Active, Lingers: st.Linger, User: fleet.Line(st.RunsAs, 60), Broken: st.Broken, Drift: st.Drift}
		if !st.Known {
			s.Err = fleet.Line(st.Why, 300)
		}
		out.Units = append(out.Units, s)
	}
	return out
}
