package ping

import "custos/internal/report"

// Kind is the type "ping".
func Kind() report.Kind {
	return report.KindOf("ping", "a dead man's switch, like healthchecks.io",
		"a GET at most once a minute, and only after a whole pass succeeded: it alerts people when the pings stay away", newPing)
}

func newPing(s report.Setup, k report.Token) (report.Receiver, error) {
	url, err := s.Secret(k)
	return report.Receiver{Pulse: Ping{Called: s.Name, URL: url}}, err
}
