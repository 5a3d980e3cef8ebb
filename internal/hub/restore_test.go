package hub

import (
	"testing"
	"time"

	"custos/internal/hub/protocol"
)

// TestNewerRows: whatever becomes of a host, each row is newer than the one before it, by whichever node's clock.
func TestNewerRows(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	life := []protocol.Host{
		{},
		{Name: "a", Key: "K1", Joined: day(9)},
		{Name: "a", Key: "K1", Joined: day(9), Revoked: day(2)},
		{Name: "a", Key: "K2", Joined: day(3), Former: []string{"K1"}},
		{Name: "a", Key: "K2", Joined: day(3), Former: []string{"K1", "K0"}},
		{Name: "a", Key: "K2", Joined: day(3), Revoked: day(1), Former: []string{"K1", "K0"}},
		{Name: "a", Key: "K3", Joined: day(1), Former: []string{"K1", "K0", "K2"}},
	}
	for i := range life {
		for j := range life {
			if isNewer(life[i], life[j]) != (i > j) {
				t.Errorf("that %+v is newer than %+v: %v", life[i], life[j], i <= j)
			}
		}
	}
}
