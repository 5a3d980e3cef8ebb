package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// span is what is true of an agent from some moment on, until the next span begins.
type span struct {
	at  time.Time
	is  []string // states that are right; none: nothing is judged
	why string
}

// sample is what Custos said of it at some moment.
type sample struct {
	at            time.Time
	state, source string
	reason        string
}

// settles is for how long what was true before, or is about to be, still counts as right:
// an agent draws, tells and is looked at a little after what it does. How long that
// took is told beside it.
const (
	settles = time.Second
	ahead   = 300 * time.Millisecond
)

// marks is what came of a life.
type marks struct {
	right, all int
	wrong      map[string]int // in words
	first      map[string]time.Time
	lags       []time.Duration
}

// judge holds the samples against what was true.
func judge(spans []span, samples []sample) marks {
	m := marks{wrong: map[string]int{}, first: map[string]time.Time{}}
	for _, s := range samples {
		now := at(spans, s.at)
		if now < 0 || len(spans[now].is) == 0 {
			continue
		}
		m.all++
		if allowed(spans, s) {
			m.right++
			continue
		}
		words := fmt.Sprintf("%s: %s, but told as %s by %s: %s", spans[now].why, strings.Join(spans[now].is, " or "), s.state, s.source, s.reason)
		if m.wrong[words]++; m.wrong[words] == 1 {
			m.first[words] = s.at
		}
	}
	m.lags = lags(spans, samples)
	return m
}

// at is the span that a moment falls into; -1: none.
func at(spans []span, when time.Time) int {
	i := len(spans) - 1
	for i >= 0 && spans[i].at.After(when) {
		i--
	}
	return i
}

func allowed(spans []span, s sample) bool {
	from, to := max(0, at(spans, s.at.Add(-settles))), at(spans, s.at.Add(ahead))
	for _, span := range spans[from : to+1] {
		if slices.Contains(span.is, s.state) || len(span.is) == 0 {
			return true
		}
	}
	return false
}

// lags are how long it took until each change was told, of those that lasted long enough
// to be seen; one that was never told took as long as it lasted.
func lags(spans []span, samples []sample) (all []time.Duration) {
	for i := 1; i < len(spans); i++ {
		end := time.Now()
		if i+1 < len(spans) {
			end = spans[i+1].at
		}
		before, now := spans[i-1].is, spans[i].is
		changed := !slices.ContainsFunc(now, func(s string) bool { return slices.Contains(before, s) })
		if len(before) == 0 || len(now) == 0 || !changed || end.Sub(spans[i].at) < settles {
			continue
		}
		lag := end.Sub(spans[i].at)
		for _, s := range samples {
			if !s.at.Before(spans[i].at) && s.at.Before(end) && slices.Contains(now, s.state) {
				lag = s.at.Sub(spans[i].at)
				break
			}
		}
		all = append(all, lag)
	}
	slices.Sort(all)
	return all
}

// share is how much of what was said was right, in percent.
func (m marks) share() float64 {
	if m.all == 0 {
		return 0
	}
	return 100 * float64(m.right) / float64(m.all)
}

// lag is the lag that so many percent of the changes did not exceed.
func (m marks) lag(percent int) time.Duration {
	if len(m.lags) == 0 {
		return 0
	}
	return m.lags[(len(m.lags)-1)*percent/100]
}

func (m marks) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d states right (%.1f %%), event to state %.1f s in the middle, %.1f s for nine in ten of %d", m.right, m.all, m.share(),
		m.lag(50).Seconds(), m.lag(90).Seconds(), len(m.lags))
	for _, words := range slices.SortedFunc(maps.Keys(m.wrong), func(a, b string) int { return m.wrong[b] - m.wrong[a] }) {
		fmt.Fprintf(&b, "\n  %4d  %s (first at %s)", m.wrong[words], words, m.first[words].UTC().Format("15:04:05"))
	}
	return b.String()
}

// truth is what has to be said of an agent while the model knows this of it; fresh says
// that an error is young, so that the CLI may be trying again.
func truth(d Doing, answered, asks, fresh bool) []string {
	switch {
	case d.Asking > 0:
		return []string{"working"}
	case d.Called == moveAsk && !answered, d.Called != moveSay && asks && !answered:
		return []string{"waiting"}
	case d.Called != moveSay:
		return []string{"working"}
	}
	is := map[move][]string{moveSay: {"idle"}, moveLimit: {"rate_limited"}, moveReset: {"rate_limited"}, moveLogin: {"auth_lost"},
		moveFull: {"context_high", "idle"}, moveError: {"idle"}, moveBusy: {"idle", "rate_limited"}}[d.Failed]
	if d.Failed != moveSay && fresh {
		is = append(slices.Clone(is), "working")
	}
	return is
}

func TestJudge(t *testing.T) {
	t0 := time.Unix(1000, 0)
	sec := func(s float64) time.Time { return t0.Add(time.Duration(s * float64(time.Second))) }
	spans := []span{{sec(0), []string{"idle"}, "a"}, {sec(10), []string{"working"}, "b"}, {sec(20), nil, "c"}, {sec(30), []string{"idle"}, "d"}, {sec(31), []string{"waiting"}, "e"}, {sec(40), nil, ""}}
	told := func(s float64, state string) sample { return sample{at: sec(s), state: state} }
	m := judge(spans, []sample{
		told(-1, "crashed"),                 // before anything is known
		told(5, "idle"), told(6, "working"), // right, wrong
		told(10.5, "idle"), told(11.5, "idle"), // settling, too late
		told(12, "working"), told(9.8, "working"), // right, a little ahead
		told(25, "crashed"),                     // nothing is judged
		told(31.4, "waiting"), told(39, "idle"), // right, wrong
	})
	if m.right != 5 || m.all != 8 || len(m.wrong) != 3 {
		t.Errorf("%d of %d right: %v", m.right, m.all, m.wrong)
	}
	if want := []time.Duration{400 * time.Millisecond, 2 * time.Second}; !slices.Equal(m.lags, want) || m.lag(50) != want[0] {
		t.Errorf("lags %v, want %v", m.lags, want)
	}
}

func TestTruth(t *testing.T) {
	for _, c := range []struct {
		d                     Doing
		answered, asks, fresh bool
		want                  string
	}{
		{Doing{Asking: 1, Failed: moveLimit}, false, true, false, "working"},
		{Doing{Called: moveCall}, false, true, false, "waiting"},
		{Doing{Called: moveCall}, true, true, false, "working"},
		{Doing{Called: moveLong}, false, false, false, "working"}, // it asks for nothing
		{Doing{Called: moveAsk}, false, false, false, "waiting"},  // but has a question
		{Doing{}, false, true, false, "idle"},
		{Doing{Failed: moveLogin}, false, true, true, "auth_lost working"},
		{Doing{Failed: moveLimit}, false, true, false, "rate_limited"},
	} {
		if got := strings.Join(truth(c.d, c.answered, c.asks, c.fresh), " "); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}
