package view

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"custos/internal/api"
	"custos/internal/fleet"
)

// Money has the same digits in sentences and in columns, and enough of them: none that is spent reads as none.
func TestMoneyIsRoundedAlike(t *testing.T) {
	for usd, want := range map[float64]string{0.000001: "0.000001", 0.000312: "0.000312", 0.0312: "0.0312", 0.05: "0.05", 0.1234: "0.123", 0.9999: "1.00", 1: "1.00", 12.345: "12.35", 1234.5: "1234.50"} {
		if got := fleet.USDWords(usd); got != want {
			t.Errorf("%v is written %s, want %s", usd, got, want)
		}
	}
	if fleet.USDWords(0) != "0.00" || api.Dollars(0) != "" {
		t.Error("nothing is 0.00 in a sentence, and empty in a column")
	}
	rapid.Check(t, func(t *rapid.T) {
		micro := rapid.Int64Range(1, 1e13).Draw(t, "micro")
		said, shown := fleet.USDWords(Dollars(micro)), api.Dollars(Dollars(micro))
		if "$"+said != shown || strings.Trim(said, "0.") == "" {
			t.Errorf("%d millionths are %s in a sentence, and %s in a column", micro, said, shown)
		}
	})
}

// A share that is written as reached is reached: a word of a stage is never contradicted.
func TestAShareIsNotRoundedUp(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.004: "<1 %", 1: "1 %", 79.99: "79 %", 99.7: "99 %", 100: "100 %", 312.4: "312 %"} {
		if got := api.Percent(share); got != want {
			t.Errorf("%v is written %s, want %s", share, got, want)
		}
	}
}
