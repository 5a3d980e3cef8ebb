package remote

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"custos/internal/api"
	"custos/internal/hub/protocol"
)

// AnyHost has an agent be placed on whichever host of the hub fits: no host is called so.
const AnyHost = protocol.AnyHost

// Place says on which hosts an agent may be started that has to be on one with all of these labels: the best first,
// which is the one with the fewest agents for each of its processors. whyNot says of each other host why not.
func Place(hosts []api.HostLook, labels []string) (fit []string, whyNot []string) {
	hosts = slices.Clone(hosts)
	slices.SortStableFunc(hosts, func(a, b api.HostLook) int {
		return cmp.Or(cmp.Compare(load(a.Offers), load(b.Offers)), cmp.Compare(a.Name, b.Name))
	})
	for _, h := range hosts {
		if why := unfit(h, labels); why != "" {
			whyNot = append(whyNot, h.Name+" "+why)
		} else {
			fit = append(fit, h.Name)
		}
	}
	return fit, whyNot
}

// mostCPUs is how many processors of a host count: none has more, whatever it says.
const mostCPUs = 1024

func load(o api.Offers) float64 {
	return float64(max(0, o.Agents)) / float64(min(max(1, o.CPUs), mostCPUs))
}

// unfit is why an agent cannot be started on a host; "" where it can.
func unfit(h api.HostLook, labels []string) string {
	var lacks []string
	for _, l := range labels {
		if !slices.Contains(h.Offers.Labels, l) {
			lacks = append(lacks, l)
		}
	}
	switch {
	case h.Status != "ok":
		return "is not known now: " + cmp.Or(h.Why, "it is being asked")
	case len(lacks) > 0:
		return "lacks the label " + strings.Join(lacks, ", ")
	case h.Offers.Frozen:
		return "is frozen"
	case !h.Offers.Acts:
		return `lets nobody order from elsewhere (remote = "view")`
	case h.Offers.Agents >= h.Offers.Most:
		return fmt.Sprintf("has room for no more agents: %d run, %d at most", h.Offers.Agents, h.Offers.Most)
	}
	return ""
}
