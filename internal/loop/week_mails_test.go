package loop_test

import (
	"fmt"

	"custos/internal/fleet"
)

// mails: 150 between agents, roles and groups; some to those who are gone.
func (s *scripting) mails() {
	w := s.w
	for i := range 150 {
		to := w.agents[w.rng.IntN(60)].name
		switch {
		case i%25 == 0:
			to = "@project/p1"
		case i%15 == 0:
			to = "role/watcher"
		}
		s.add(s.between(0.05, 0.9), func() {
			w.must(func(fleet.Records) (fleet.Records, error) {
				m := fleet.Mail{From: fleet.ByAgent(w.agents[i%55].name), To: []string{to}, Priority: fleet.P3, Subject: fmt.Sprintf("mail %d", i), At: w.now()}
				return fleet.Records{Mails: []fleet.Mail{m}}, nil
			})
		})
	}
}
