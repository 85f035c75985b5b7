/** Return the token of the cookie, which a sign-in in another tab changes; "" if scripts cannot read the cookie. */
export function cookieToken() {
  return /(?:^|; )flow_csrf=([^;]*)/.exec(document.cookie)?.[1] ?? "";
}
