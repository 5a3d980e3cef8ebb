package member

import (
	"strings"
	"testing"
	"time"

	"custos/internal/hub/hubtest"
)

// TestAHubThatHangs: a hub that keeps its connections and answers nothing is noticed by a host that has nothing to do, by
// its next head: within 9 s.
func TestAHubThatHangs(t *testing.T) {
	t.Parallel()
	hub := hubtest.Start(t, 1)
	j := hub.Join(t, "box1")
	p := hubtest.NewProxy(t, strings.TrimPrefix(j.URLs[0], "tls://"))
	j.URLs = []string{"tls://" + p.Addr().String()}
	m, _ := host(t, j, echo)
	eventually(t, "it takes part", func() bool { return holder(m, keyWatch) != "" })
	p.Hang(true)
	hubtest.Eventually(t, 9500*time.Millisecond, "it is noticed", func() bool { _, _, cut := m.now(); return cut != "" })
	p.Hang(false)
	eventually(t, "it takes part again", func() bool { _, _, cut := m.now(); return cut == "" })
}
