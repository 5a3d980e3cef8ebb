package ping

import "custos/internal/report"

// Keys are those of its section.
type Keys struct {
	report.Token
	report.Authority
}

// Kind is the type "ping".
func Kind() report.Kind {
	return report.KindOf("ping", "a dead man's switch, like healthchecks.io",
		"a GET at most once a minute, and only after a whole pass succeeded: it alerts people when the pings stay away", newPing)
}

func newPing(s report.Setup, k Keys) (r report.Receiver, err error) {
	url, err := s.Secret(k.Token)
	if err != nil {
		return r, err
	}
	web, err := s.HTTP(k.Authority)
	r.Pulse = Ping{Called: s.Name, URL: url, HTTP: web}
	return r, err
}
