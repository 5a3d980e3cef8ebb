package remote

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"time"

	"custos/internal/api"
	"custos/internal/config"
	"custos/internal/hub/protocol"
)

// joined are the names of the other hosts of the hub; none where no hub was joined. A file that
// cannot be read names none: the daemon writes it anew.
func joined(cfg config.Config) (out []string) {
	if cfg.Joined == nil {
		return nil
	}
	var list protocol.Names
	text, err := os.ReadFile(cfg.HubHosts())
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	for _, name := range list.Hosts {
		if hostName.MatchString(name) {
			out = append(out, name)
		}
	}
	return out
}

// through has the daemon of this machine ask a host of the hub: it finds out who asks.
type through struct {
	*http.Transport
	host string
}

func (t through) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set(api.ForHost, t.host)
	return t.Transport.RoundTrip(req)
}

func (h Host) throughHub() *api.Client { return api.NewClient(through{h.daemon(), h.Name}) }

// here asks the daemon of this machine, which hears what the hosts of the hub tell.
func (h Host) here() *api.Client { return api.NewClient(h.daemon()) }

func (h Host) daemon() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, "unix", h.Hub)
			if err != nil {
				return nil, &api.Error{Kind: api.Unreachable, Message: "cannot reach host " + h.Name + ": the daemon of this machine asks it over the hub, and none answers here", Hint: "custos up"}
			}
			return api.Counted(c), nil
		},
		DisableCompression: true, MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute,
	}
}
