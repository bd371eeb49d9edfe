//go:build !linux

package person

import "os"

// Voucher is the gateway's end of a proof that this system has no means for.
type Voucher struct{}

// NewVoucher makes none here.
func NewVoucher() (*Voucher, error) { return nil, nil }

// Agent gives nothing.
func (*Voucher) Agent() (*os.File, error) { return nil, nil }

// Close does nothing.
func (*Voucher) Close() {}

// VoucherMain answers nobody.
func VoucherMain() int { return 1 }

// Vouched is never so here.
func Vouched() bool { return false }
