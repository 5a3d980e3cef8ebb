package shown

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/remote"
)

// TestHosts: whoever comes and goes, each machine that there is is shown once, in order and by itself, is there to be
// asked, is held while somebody holds all, and the number grows with each change.
func TestHosts(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	rapid.Check(t, func(r *rapid.T) {
		var there []remote.Host
		s := New(t.Context(), func() []remote.Host { return there }, func() {})
		var releases []func()
		var before []remote.Host
		var last int64
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			there = nil
			for _, name := range names {
				if rapid.Bool().Draw(r, name) {
					// Nothing listens at such a socket; another one is another machine of that name.
					there = append(there, remote.Host{Name: name, Hub: "/nonexistent/" + rapid.SampledFrom([]string{"1", "2"}).Draw(r, "socket")})
				}
			}
			switch hold := rapid.Bool().Draw(r, "hold"); {
			case hold:
				releases = append(releases, s.Hold())
			case len(releases) > 0:
				releases[0]()
				releases = releases[1:]
			}
			looks, number := s.Looks(false)
			if len(looks) != len(there) || !slices.Equal(before, there) && number <= last || number < last {
				r.Fatalf("%d are shown of %d, by number %d after %d", len(looks), len(there), number, last)
			}
			for i, h := range there {
				if looks[i].HostSeen.Name != h.Name || s.shown[i].is != h || (s.shown[i].release != nil) != (len(releases) > 0) {
					r.Fatalf("%+v is shown of %+v, held by %d", looks[i], h, len(releases))
				}
			}
			for _, name := range names {
				is := slices.ContainsFunc(there, func(h remote.Host) bool { return h.Name == name })
				if _, ok := s.Client(name); ok != is {
					r.Fatalf("%s is there to be asked: %v", name, ok)
				}
			}
			before, last = there, number
		}
		for _, release := range releases {
			release()
		}
		there = nil
		s.Looks(false) // ends them
	})
}
