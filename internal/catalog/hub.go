package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"custos/internal/config"
	"custos/internal/fleet"
)

// Hub is the section [hub].
type Hub struct {
	File   string // of leases that the Custos of one machine share; "" where there is none
	Host   string // the name of this one beside the file
	Remote fleet.Remote
	Labels []string // what an agent may be placed by (custos spawn --host any --label)
}

// hubSection is [hub] as it is written.
type hubSection struct {
	File   string   `toml:"file" is:"path"`
	Host   string   `toml:"host" is:"name"`
	Remote string   `toml:"remote"`
	Labels []string `toml:"labels"`
}

var label = regexp.MustCompile(`^[A-Za-z0-9._/=-]{1,64}$`)

// mostLabels is how many labels a host may have.
const mostLabels = 32

// ReadHub reads what the host shares with others, and what they may do here.
func ReadHub(cfg config.Config) (h Hub, err error) {
	var s hubSection
	if err := cfg.Section("hub", &s); err != nil {
		return h, err
	}
	h = Hub{Host: s.Host, Remote: fleet.Remote(cmp.Or(s.Remote, string(fleet.RemoteView))), Labels: s.Labels}
	if !slices.Contains([]fleet.Remote{fleet.RemoteView, fleet.RemoteAsk, fleet.RemoteAct}, h.Remote) {
		return h, cfg.Misread("hub", fmt.Errorf("remote: %q is none of view, ask and act", s.Remote))
	}
	if i := slices.IndexFunc(s.Labels, func(l string) bool { return !label.MatchString(l) }); i >= 0 {
		return h, cfg.Misread("hub", fmt.Errorf("labels: %q is no label: want letters, digits and . _ - = /, 64 at most", s.Labels[i]))
	}
	if len(s.Labels) > mostLabels {
		return h, cfg.Misread("hub", fmt.Errorf("labels: %d are too many, %d at most", len(s.Labels), mostLabels))
	}
	if s.File == "" {
		if s.Host != "" {
			return h, cfg.Misread("hub", errors.New("host: the name of a host on a hub is that of its token; here it is for a file of leases"))
		}
		return h, nil
	}
	if h.File, err = cfg.Expand(s.File); err != nil {
		return h, cfg.Misread("hub", err)
	}
	if h.Host != "" && !label.MatchString(h.Host) || strings.Contains(h.Host, "/") {
		return h, cfg.Misread("hub", fmt.Errorf("host: %q is no name of a host: want letters, digits and . _ -, 64 at most", h.Host))
	}
	if h.Host == "" {
		h.Host, err = os.Hostname()
	}
	return h, cfg.Misread("hub", err)
}
