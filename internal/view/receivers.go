package view

import (
	"custos/internal/api"
	"custos/internal/fleet"
)

// Receivers says how each receiver stands.
func Receivers(all []fleet.Receiver) api.Receivers {
	out := api.Receivers{Receivers: []api.Receiver{}}
	for _, r := range all {
		one := api.Receiver{Name: r.Name, Barred: r.Barred, Proof: lasting(r.Proof)}
		if r.Waiting > 0 || r.Tries > 0 {
			one.Waiting, one.Why = lasting(fleet.Known(r.Waiting)), r.Why
		}
		out.Receivers = append(out.Receivers, one)
	}
	return out
}
