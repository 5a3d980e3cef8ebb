package fleet

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Instant is a moment, by two clocks. Within one boot, differences are
// taken from Up, which no one can set; across boots only Wall is left.
type Instant struct {
	Wall time.Time `json:"wall"`           // UTC
	Up   Duration  `json:"up"`             // CLOCK_BOOTTIME
	Boot string    `json:"boot,omitempty"` // /proc/sys/kernel/random/boot_id
}

// IsZero says whether the instant was never set.
func (i Instant) IsZero() bool { return i.Wall.IsZero() && i.Up == 0 && i.Boot == "" }

// MarshalJSON writes the wall clock in UTC, whatever zone it was read in.
func (i Instant) MarshalJSON() ([]byte, error) {
	type plain Instant
	i.Wall = i.Wall.UTC()
	return json.Marshal(plain(i))
}

// Since returns the time that passed from earlier to i. It is negative when
// the wall clock went back between two boots.
func (i Instant) Since(earlier Instant) time.Duration {
	if i.Boot == earlier.Boot && i.Boot != "" {
		return time.Duration(i.Up - earlier.Up)
	}
	return i.Wall.Sub(earlier.Wall)
}

// Before says whether i lies before other.
func (i Instant) Before(other Instant) bool { return other.Since(i) > 0 }

// Add returns the instant d later, in the same boot.
func (i Instant) Add(d time.Duration) Instant {
	return Instant{Wall: i.Wall.Add(d), Up: i.Up + Duration(d), Boot: i.Boot}
}

// Duration is a time.Duration that is written as text: "1h30m0s".
type Duration time.Duration

// String returns the text form.
func (d Duration) String() string { return time.Duration(d).String() }

// Short is the text form as people write it: 2h, not 2h0m0s.
func (d Duration) Short() string {
	out := d.String()
	if strings.HasSuffix(out, "m0s") {
		out = strings.TrimSuffix(out, "0s")
	}
	if strings.HasSuffix(out, "h0m") {
		out = strings.TrimSuffix(out, "0m")
	}
	return out
}

// MarshalJSON writes the text form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads the text form.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("cannot read duration: %w", err)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("cannot read duration: %w", err)
	}
	*d = Duration(v)
	return nil
}
