"""whence: in what context would my plan have been better than yours?"""
