package catalog

import (
	"errors"

	"custos/internal/agent/price"
	"custos/internal/config"
)

// rates are prices in dollars for a million tokens. What is left out costs what input does.
type rates struct {
	Input        *float64 `toml:"input" is:"0..1000"`
	CacheRead    *float64 `toml:"cache_read" is:"0..1000"`
	CacheWrite5m *float64 `toml:"cache_write_5m" is:"0..1000"`
	CacheWrite1h *float64 `toml:"cache_write_1h" is:"0..1000"`
	Output       *float64 `toml:"output" is:"0..1000"`
}

// priceSection is the section [prices.NAME].
type priceSection struct {
	Input        *float64 `toml:"input" is:"0..1000"`
	CacheRead    *float64 `toml:"cache_read" is:"0..1000"`
	CacheWrite5m *float64 `toml:"cache_write_5m" is:"0..1000"`
	CacheWrite1h *float64 `toml:"cache_write_1h" is:"0..1000"`
	Output       *float64 `toml:"output" is:"0..1000"`
	Above        int64    `toml:"above" is:"0..1000000000"` // tokens that a model is given, beyond which all of the response costs what long says
	Long         *rates   `toml:"long"`
}

// Prices is the table that comes with Custos, and what the sections [prices.NAME] say before it.
func Prices(cfg config.Config) (price.Table, error) {
	table, err := price.Shipped()
	if err != nil {
		return table, err
	}
	sections := map[string]priceSection{}
	if err := cfg.Section("prices", &sections); err != nil {
		return table, err
	}
	var own []price.Price
	var wrong []error
	for _, model := range sortedNames(sections) {
		p, err := sections[model].price(model)
		if err == nil {
			_, err = table.With([]price.Price{p})
		}
		if err != nil {
			wrong = append(wrong, cfg.Misread("prices."+model, err))
		}
		own = append(own, p)
	}
	if len(wrong) > 0 {
		return table, errors.Join(wrong...)
	}
	return table.With(own)
}

func (s priceSection) price(model string) (price.Price, error) {
	out := price.Price{Models: []string{model}, Rates: price.Rates{Input: s.Input, CacheRead: s.CacheRead, CacheWrite5m: s.CacheWrite5m, CacheWrite1h: s.CacheWrite1h, Output: s.Output}}
	if (s.Above > 0) != (s.Long != nil) {
		return out, errors.New("above and long need each other: how many tokens make a prompt long, and what it costs then")
	}
	if s.Long != nil {
		out.Above = []price.Tier{{Tokens: s.Above, Rates: price.Rates(*s.Long)}}
	}
	return out, nil
}
