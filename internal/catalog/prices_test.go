package catalog

import (
	"strings"
	"testing"
	"time"

	"custos/internal/agent/price"
	"custos/internal/fleet"
)

func TestPriceSections(t *testing.T) {
	w, err := world(t, `[prices."gpt-5.6-sol"]
input = 4
cache_read = 0.4
output = 20
above = 272_000
long = { input = 8, output = 30 }
[prices."our-*"]
input = 0
output = 0
`)
	if err != nil {
		t.Fatal(err)
	}
	table, err := Prices(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]int64{"gpt-5.6-sol": 2_400_000, "our-7b": 0, "gpt-5": 1_250_000 - 937_500 + 1_000_000, "other": -1} {
		u := price.Of(table, fleet.Usage{Model: model, At: time.Unix(1.8e9, 0), Tokens: fleet.Tokens{Input: 250_000, Output: 100_000, CacheRead: 0}})
		if model == "gpt-5.6-sol" {
			want = 1_000_000 + 2_000_000
		}
		if (u.Pricing == fleet.PricedByTable) != (want >= 0) || want >= 0 && u.MicroUSD != want {
			t.Errorf("%s costs %d (%s); want %d", model, u.MicroUSD, u.Pricing, want)
		}
	}
	long := price.Of(table, fleet.Usage{Model: "gpt-5.6-sol", At: time.Unix(1.8e9, 0), Tokens: fleet.Tokens{Input: 272_001}})
	if long.MicroUSD != 2_176_008 {
		t.Errorf("a long prompt costs %d", long.MicroUSD)
	}
}

func TestBadPriceSections(t *testing.T) {
	for text, want := range map[string]string{
		"[prices.a]\ninput = 1\n":                              "custos.toml:2: [prices.a] cannot use the price of a: it needs input and output",
		"[prices.a]\ninput = -1\noutput = 1\n":                 "0",
		"[prices.a]\ninput = 1\noutput = 1\nabove = 5\n":       "above and long need each other",
		"[prices.a]\ninput = 1\noutput = 1\ncached = 5\n":      `"cached"`,
		"[prices.a]\ninput = 1\noutput = 1e9\n":                "1000",
		"[prices.'[']\ninput = 1\noutput = 1\n":                "no pattern",
		"[prices]\ninput = 1\n":                                "prices",
		"[prices.a]\ninput = 1\noutput = 1\nabove = 5\nlong=3": "long",
	} {
		w, err := world(t, text)
		if err == nil {
			_, err = Prices(w.Config)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
