package judge

import (
	"errors"
	"math"
)

// prices are in dollars per million tokens, which is millionths of a dollar per
// token.
type prices struct {
	known         bool
	input, output float64
}

func newPrices(s Settings) (prices, error) {
	if s.InputPrice == nil && s.OutputPrice == nil {
		return prices{}, nil
	}
	if s.InputPrice == nil || s.OutputPrice == nil {
		return prices{}, errors.New("input_price and output_price need each other")
	}
	for _, p := range []float64{*s.InputPrice, *s.OutputPrice} {
		if math.IsNaN(p) || p < 0 || p > 1e6 {
			return prices{}, errors.New("a price is from 0 to 1000000 dollars per million tokens")
		}
	}
	return prices{known: true, input: *s.InputPrice, output: *s.OutputPrice}, nil
}

func (p prices) of(u Usage) Cost {
	if !p.known || !u.Known {
		return Cost{}
	}
	return micros(p.input*float64(u.Input) + p.output*float64(u.Output))
}

// micros rounds up; what cannot be a sum of money is unknown.
func micros(sum float64) Cost {
	if math.IsNaN(sum) || sum < 0 || sum > 1e15 {
		return Cost{}
	}
	return Cost{Known: true, Micros: int64(math.Ceil(sum - 1e-6))} // 0.0123 dollars are 12300.000000000002
}

// usage is unknown unless both sides were told, and can be counts.
func usage(output *int64, inputs ...*int64) Usage {
	const most = 1 << 40
	if output == nil || len(inputs) == 0 || inputs[0] == nil || *output < 0 || *output > most {
		return Usage{}
	}
	u := Usage{Known: true, Output: *output}
	for _, n := range inputs {
		switch {
		case n == nil:
		case *n < 0 || *n > most:
			return Usage{}
		default:
			u.Input += *n
		}
	}
	return u
}
