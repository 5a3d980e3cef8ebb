package daemon

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"custos/internal/observe/agents"
)

// What one agent tells is laid over the board before its hook is answered; a flood of it is
// few layings, of which none is lost.
func TestAFloodOfWhatAgentsTellIsLaidTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var laid []int
		h := &heard{lay: func(news []agents.Told) { laid = append(laid, len(news)) }}
		h.add(agents.Told{})
		if fmt.Sprint(laid) != "[1]" {
			t.Errorf("laid %v before the first is answered", laid)
		}
		for range 100 {
			h.add(agents.Told{})
		}
		time.Sleep(together)
		synctest.Wait()
		for range 30 {
			h.add(agents.Told{})
			time.Sleep(together / 10)
		}
		time.Sleep(together)
		synctest.Wait()
		h.add(agents.Told{})
		all := 0
		for _, n := range laid {
			all += n
		}
		if all != 132 || len(laid) != 6 || laid[1] != 100 { // what comes just when it may is laid with those before or after
			t.Errorf("laid %v", laid)
		}
	})
}
