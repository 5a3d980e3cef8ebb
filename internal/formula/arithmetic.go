package formula

import (
	"fmt"
	"strconv"
	"strings"
)

// readRange reads "1..3" or "1..2^{disks}-1": both ends are whole-number
// expressions of + - * / ^ and brackets.
func readRange(text string) (from, to int, err error) {
	a, b, ok := strings.Cut(text, "..")
	if !ok || len(text) > 200 {
		return 0, 0, fmt.Errorf("cannot read range %q: want one like 1..3", text)
	}
	if from, err = arithmetic(a); err != nil {
		return 0, 0, fmt.Errorf("cannot read range %q: %w", text, err)
	}
	if to, err = arithmetic(b); err != nil {
		return 0, 0, fmt.Errorf("cannot read range %q: %w", text, err)
	}
	return from, to, nil
}

// most is beyond any loop; sums stop there.
const most = 1 << 30

type calculator struct {
	text string
	at   int
}

func arithmetic(text string) (int, error) {
	c := &calculator{text: strings.ReplaceAll(text, " ", "")}
	n, err := c.sum(0)
	if err == nil && c.at < len(c.text) {
		err = fmt.Errorf("%q is no whole-number expression", text)
	}
	return n, err
}

func (c *calculator) peek() byte {
	if c.at < len(c.text) {
		return c.text[c.at]
	}
	return 0
}

func (c *calculator) sum(depth int) (int, error) {
	n, err := c.product(depth)
	for err == nil && (c.peek() == '+' || c.peek() == '-') {
		op := c.peek()
		c.at++
		var m int
		if m, err = c.product(depth); err == nil {
			n, err = operate(op, n, m)
		}
	}
	return n, err
}

func (c *calculator) product(depth int) (int, error) {
	n, err := c.power(depth)
	for err == nil && (c.peek() == '*' || c.peek() == '/') {
		op := c.peek()
		c.at++
		var m int
		if m, err = c.power(depth); err == nil {
			n, err = operate(op, n, m)
		}
	}
	return n, err
}

func (c *calculator) power(depth int) (int, error) {
	n, err := c.atom(depth)
	if err == nil && c.peek() == '^' {
		c.at++
		var m int
		if m, err = c.power(depth + 1); err == nil {
			n, err = operate('^', n, m)
		}
	}
	return n, err
}

func (c *calculator) atom(depth int) (int, error) {
	if depth > maxDepth {
		return 0, fmt.Errorf("too many brackets")
	}
	if c.peek() == '(' {
		c.at++
		n, err := c.sum(depth + 1)
		if err == nil && c.peek() != ')' {
			err = fmt.Errorf("a bracket is not closed")
		}
		c.at++
		return n, err
	}
	from := c.at
	for c.peek() >= '0' && c.peek() <= '9' {
		c.at++
	}
	n, err := strconv.Atoi(c.text[from:c.at])
	if err != nil || n > most {
		return 0, fmt.Errorf("%q is no whole number", c.text[from:])
	}
	return n, nil
}

func operate(op byte, n, m int) (int, error) {
	switch op {
	case '+':
		n += m
	case '-':
		n -= m
	case '*':
		n *= m
	case '/':
		if m == 0 {
			return 0, fmt.Errorf("a division by nothing")
		}
		n /= m
	case '^':
		return raise(n, m)
	}
	if n > most || n < -most {
		return 0, fmt.Errorf("the number is too big")
	}
	return n, nil
}

func raise(n, m int) (int, error) {
	if m < 0 || m > 30 {
		return 0, fmt.Errorf("an exponent is from 0 to 30")
	}
	out := 1
	for range m {
		if out *= n; out > most || out < -most {
			return 0, fmt.Errorf("the number is too big")
		}
	}
	return out, nil
}
